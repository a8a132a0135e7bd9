import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { lockRootDir, type RootLock } from '../../src/runtime/root-lock.ts';
import { waitFor } from '../support/wait-for.ts';

const MODULE = new URL('../../src/runtime/root-lock.ts', import.meta.url).href;
const HOLD = `
  const { lockRootDir } = await import(${JSON.stringify(MODULE)});
  await lockRootDir(process.argv[1]);
  console.log('locked');
  setInterval(() => undefined, 1000);
`;

let dir: string;
let rootDir: string;
let locks: RootLock[];
let children: ChildProcess[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-lock-'));
  rootDir = join(dir, 'root');
  locks = [];
  children = [];
});
afterEach(async () => {
  for (const lock of locks) lock.release();
  for (const child of children) await kill(child);
  rmSync(dir, { recursive: true });
});

async function lock(path = rootDir): Promise<RootLock> {
  const held = await lockRootDir(path);
  locks.push(held);
  return held;
}

/** Another process that holds the lock. */
async function holder(): Promise<ChildProcess> {
  const child = spawn(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', HOLD, rootDir],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  children.push(child);
  await once(child.stdout, 'data');
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

test('makes the folder where there is none', async () => {
  await lock();
  expect(existsSync(rootDir)).toBe(true);
});

test("a second agent is refused, with the first one's pid and what to do", async () => {
  const { pid } = await holder();
  const refused = lock();
  await expect(refused).rejects.toMatchObject({ kind: 'FailedPrecondition' });
  await expect(refused).rejects.toThrow(
    `--root-dir ${rootDir} is in use by another instance (pid ${String(pid)}): stop it, or give this one a folder of its own`,
  );
});

test('so is one in the same process', async () => {
  await lock();
  await expect(lock()).rejects.toThrow(`pid ${String(process.pid)}`);
});

test('and one that comes by another path', async () => {
  await lock();
  symlinkSync(rootDir, join(dir, 'alias'));
  await expect(lock(join(dir, 'alias'))).rejects.toThrow('is in use by another instance');
});

test('a refused one leaves the lock as it was', async () => {
  const first = await lock();
  await expect(lock()).rejects.toThrow('is in use');
  await expect(lock()).rejects.toThrow('is in use');
  first.release();
  await lock();
});

test('another folder is another lock', async () => {
  await lock();
  await lock(join(dir, 'other'));
});

test('released, it can be taken again', async () => {
  (await lock()).release();
  (await lock()).release();
  await lock();
});

test('the lock goes with its holder, also by kill -9', async () => {
  const child = await holder();
  await expect(lock()).rejects.toThrow('is in use');
  await kill(child);
  await lock();
});

test('the lock does not keep its process alive', async () => {
  const script = HOLD.replace('setInterval(() => undefined, 1000);', '');
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script, rootDir];
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  children.push(child);
  expect(await once(child, 'exit')).toEqual([0, null]);
});

test('a holder that is suspended (Ctrl-Z) holds up nobody who asks', async () => {
  const child = await holder();
  child.kill('SIGSTOP');
  const stat = `/proc/${String(child.pid)}/stat`;
  await waitFor(() => readFileSync(stat, 'latin1').includes(') T '), { what: 'the holder to be suspended' });
  await expect(lock()).rejects.toThrow('is in use by another instance (it does not answer)');
});

test('a folder that cannot be made is named, with what to do', async () => {
  writeFileSync(join(dir, 'file'), '');
  const path = join(dir, 'file', 'root');
  const failed = lock(path);
  await expect(failed).rejects.toMatchObject({ kind: 'InvalidArgument' });
  await expect(failed).rejects.toThrow(`--root-dir ${path}: `);
  await expect(failed).rejects.toThrow('give a folder that this user may write');
});
