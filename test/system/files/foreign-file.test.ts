import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { loadKubeconfig } from '../../../src/agent/cluster/credentials/load-kubeconfig.ts';
import { loadConfiguration } from '../../../src/agent/config/load-configuration.ts';
import { ResolvConf } from '../../../src/agent/runtime/node/pod-dns-source.ts';
import { WatchedFile } from '../../../src/agent/server/node/tls-material.ts';
import { openForeignFile, readForeignFile, readOpenedFile } from '../../../src/system/files/foreign-file.ts';
import { O_PATH } from '../../../src/system/files/open-place.ts';
import { openBelow } from '../../support/held-open.ts';

const LIMIT = { bytesMax: 1000 };

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-foreign-'));
  path = join(dir, 'file');
});
afterEach(() => rmSync(dir, { recursive: true }));

const heldOpen = () => openBelow(dir) + openBelow('/dev/zero');

test('a file is read whole, also behind a link, and one that is empty', async () => {
  writeFileSync(path, 'text');
  symlinkSync(path, join(dir, 'link'));
  expect((await readForeignFile(join(dir, 'link'), LIMIT)).content.toString()).toBe('text');
  writeFileSync(path, '');
  expect((await readForeignFile(path, LIMIT)).content).toHaveLength(0);
});

test('a link is not followed where it must not be', async () => {
  writeFileSync(path, 'text');
  symlinkSync(path, join(dir, 'link'));
  const options = { ...LIMIT, followsLinks: false };
  await expect(readForeignFile(join(dir, 'link'), options)).rejects.toThrow('is not a file but a link');
  await expect(openForeignFile(join(dir, 'link'), options)).rejects.toThrow('is not a file but a link');
});

test('a pipe, a socket, a device and a folder are refused, and nothing stays open', async () => {
  execFileSync('mkfifo', [join(dir, 'pipe')]);
  mkdirSync(join(dir, 'folder'));
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(join(dir, 'socket'), resolve));
  const before = heldOpen();
  const said = async (at: string) => readForeignFile(at, LIMIT).catch((error: unknown) => String(error));
  expect(await said(join(dir, 'pipe'))).toContain('a named pipe');
  expect(await said(join(dir, 'socket'))).toContain('a socket');
  expect(await said('/dev/zero')).toContain('a device');
  expect(await said(join(dir, 'folder'))).toContain('a folder');
  expect(heldOpen()).toBe(before);
  await new Promise((resolve) => server.close(resolve));
});

test('a pipe that a person names is waited for, and read to its end or to the limit', async () => {
  execFileSync('mkfifo', [path]);
  const options = { ...LIMIT, waitsForPipe: true };
  const written = async (text: string, read: () => Promise<unknown>) => {
    const writer = spawn('sh', ['-c', `printf %s "$0" > "$1"`, text, path]);
    const outcome = read();
    await Promise.all([once(writer, 'close'), outcome.catch(() => undefined)]);
    return outcome;
  };
  const before = heldOpen();
  expect(await written('text', async () => (await readForeignFile(path, options)).content.toString())).toBe(
    'text',
  );
  await expect(written('x'.repeat(1001), () => readForeignFile(path, options))).rejects.toThrow(
    'is larger than',
  );
  const opened = async () => {
    await using file = await openForeignFile(path, { waitsForPipe: true });
    return await file.readFile('utf8');
  };
  expect(await written('text', opened)).toBe('text');
  await expect(openForeignFile('/dev/zero', { waitsForPipe: true })).rejects.toThrow('a device');
  expect(heldOpen()).toBe(before);
});

test('a file of the kernel without a size is refused', async () => {
  await expect(readForeignFile('/proc/self/status', LIMIT)).rejects.toThrow('has no end');
  await expect(openForeignFile('/proc/self/status')).rejects.toThrow('has no end');
});

test('a file that is too large is refused, and one that grows is read to its end', async () => {
  writeFileSync(path, 'x'.repeat(1001));
  await expect(readForeignFile(path, LIMIT)).rejects.toThrow('is larger than 1000 bytes');
  writeFileSync(path, 'first');
  const place = await open(path, O_PATH);
  const stat = place.stat.bind(place) as (...args: unknown[]) => Promise<never>;
  place.stat = async (...args: unknown[]) => {
    const stats = await stat(...args);
    appendFileSync(path, ' second');
    return stats;
  };
  expect((await readOpenedFile(place, LIMIT)).content.toString()).toBe('first second');
  await place.close();
});

test('a pipe in place of a file of an operator holds no reader up, and is named', async () => {
  execFileSync('mkfifo', [path]);
  await expect(loadConfiguration(path)).rejects.toThrow(`${path}: is not a file but a named pipe`);
  await expect(loadKubeconfig(path)).rejects.toThrow(`${path}: is not a file but a named pipe`);
  await expect(new ResolvConf(path).read()).rejects.toThrow('is not a file but a named pipe');
  await expect(new WatchedFile(path).text()).rejects.toThrow('is not a file but a named pipe');
});
