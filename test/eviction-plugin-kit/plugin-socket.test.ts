/** The socket of a plugin, in a folder in which others make and remove files too. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from 'node:net';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startEvictionPlugin } from '../../src/eviction-plugin-kit/eviction-plugin-kit.ts';
import { REGISTRATION_SERVICE } from '../../src/agent/plugins/protocol/service-methods.ts';
import { KitBed } from '../support/kit-bed.ts';
import { waitFor } from '../support/wait-for.ts';

const { getInfo } = REGISTRATION_SERVICE;

let bed: KitBed;
beforeEach(() => {
  bed = new KitBed();
});
afterEach(async () => bed.cleanUp());

const socketOf = (name: string) => join(bed.registryDir, `${name}.sock`);
const appears = (path: string) => waitFor(() => existsSync(path), { what: `${path} to appear` });
/** As a process that was killed leaves it. */
function leaveSocket(path: string): void {
  const code = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  spawnSync(process.execPath, ['-e', code]);
}

test('in the folder is one socket, and after the end none', async () => {
  const plugin = await bed.start();
  expect(readdirSync(bed.registryDir)).toEqual(['chooser.sock']);
  expect(statSync(plugin.socket).isSocket()).toBe(true);
  await plugin.stop();
  expect(readdirSync(bed.registryDir)).toEqual([]);
});

test('a socket that is removed is made again, and answers', async () => {
  const plugin = await bed.start();
  rmSync(plugin.socket);
  await appears(plugin.socket);
  expect(await bed.connect(plugin).ask(getInfo, {})).toMatchObject({ name: 'chooser' });
  expect(readdirSync(bed.registryDir)).toEqual(['chooser.sock']);
});

test('the same where the whole folder is removed, and comes back as another one', async () => {
  const plugin = await bed.start();
  rmSync(bed.registryDir, { recursive: true });
  await waitFor(() => bed.log.some((line) => line.includes('waits for the folder')), {
    what: 'the plugin to wait for the folder',
  });
  mkdirSync(bed.registryDir);
  await appears(plugin.socket);
  expect(await bed.connect(plugin).ask(getInfo, {})).toMatchObject({ name: 'chooser' });
});

test('a plugin that starts before the agent waits for the folder', async () => {
  rmSync(bed.registryDir, { recursive: true });
  const start = bed.start();
  await waitFor(() => bed.log.some((line) => line.includes('waits for the folder')), {
    what: 'the plugin to say that it waits',
  });
  mkdirSync(bed.registryDir);
  const plugin = await start;
  expect(existsSync(plugin.socket)).toBe(true);
  expect(bed.log.filter((line) => line.includes('waits for the folder'))).toHaveLength(1);
});

test('what a dead process has left is replaced', async () => {
  leaveSocket(socketOf('chooser'));
  expect(statSync(socketOf('chooser')).isSocket()).toBe(true);
  const plugin = await bed.start();
  expect(await bed.connect(plugin).ask(getInfo, {})).toMatchObject({ name: 'chooser' });
});

test('the socket of a living plugin of the same name is left alone', async () => {
  const first = await bed.start();
  await expect(bed.start()).rejects.toThrow(`another process serves ${first.socket}`);
  expect(await bed.connect(first).ask(getInfo, {})).toMatchObject({ name: 'chooser' });
  expect(readdirSync(bed.registryDir)).toEqual(['chooser.sock']);
});

test('a socket that another process has put in its place is logged, left alone, and not removed at the end', async () => {
  const plugin = await bed.start();
  const other = createServer();
  await new Promise<void>((resolve) => {
    other.listen(socketOf('.other'), resolve);
  });
  renameSync(socketOf('.other'), plugin.socket);
  const { ino } = statSync(plugin.socket);
  await waitFor(() => bed.log.some((line) => line.includes('this one is not asked')), {
    what: 'the plugin to notice that it was replaced',
  });
  await plugin.stop();
  expect(statSync(plugin.socket).ino).toBe(ino);
  other.close();
});

test('what is no socket is not replaced by stealth: the plugin does not start', async () => {
  mkdirSync(socketOf('chooser'));
  await expect(bed.start()).rejects.toThrow();
  expect(readdirSync(bed.registryDir)).toEqual(['chooser.sock']);
  expect(statSync(socketOf('chooser')).isDirectory()).toBe(true);
});

test('a path that is too long for a socket is an error that says so', async () => {
  const registryDir = join(bed.dir, 'x'.repeat(90));
  const started = startEvictionPlugin({ name: 'x', evictPods: () => undefined }, { registryDir });
  await expect(started).rejects.toThrow('too long a path: a socket may have 107 bytes');
});

test('a folder that is a file: logged once, and the plugin goes on waiting', async () => {
  const plugin = await bed.start();
  rmSync(bed.registryDir, { recursive: true });
  writeFileSync(bed.registryDir, '');
  await waitFor(() => bed.log.some((line) => line.includes('cannot be made')), {
    what: 'the plugin to say that there is no place for its socket',
  });
  rmSync(bed.registryDir);
  mkdirSync(bed.registryDir);
  await appears(plugin.socket);
});
