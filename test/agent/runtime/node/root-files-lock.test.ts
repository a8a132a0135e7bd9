import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lockRootDir, type RootLock } from '../../../../src/agent/runtime/node/root-files.ts';
import { lockFile } from '../../../../src/system/file-lock.ts';
import { mountSmallDisk, testAsRoot } from '../../../support/as-root.ts';
import { openFiles } from '../../../support/held-open.ts';
import { holdStill } from '../../../support/hold-still.ts';
import { PATIENCE_MS } from '../../../support/wait-for.ts';

describe('root lock', () => {
  const MODULE = new URL('../../../../src/agent/runtime/node/root-files.ts', import.meta.url).href;
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

  /** Tries to take the lock by way of another program, such as `unshare`. */
  function tryAs(...command: string[]) {
    const [program = '', ...args] = [
      ...command,
      ...[
        process.execPath,
        '--disable-warning=ExperimentalWarning',
        '--input-type=module',
        '-e',
        HOLD,
        rootDir,
      ],
    ];
    return spawnSync(program, args, { encoding: 'utf8', timeout: PATIENCE_MS });
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

  test('a second agent in the same process is refused', async () => {
    await lock();
    await expect(lock()).rejects.toThrow(`pid ${String(process.pid)}`);
  });

  test('an agent that comes by another path is refused, too', async () => {
    await lock();
    symlinkSync(rootDir, join(dir, 'alias'));
    await expect(lock(join(dir, 'alias'))).rejects.toThrow('is in use by another instance');
  });

  test('an agent that is refused leaves the lock unchanged', async () => {
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

  test('a suspended holder (Ctrl-Z) does not block an agent that tries to take the lock', async () => {
    const child = await holder();
    await holdStill(child.pid ?? 0);
    await expect(lock()).rejects.toThrow(`is in use by another instance (pid ${String(child.pid)})`);
  });

  test('only a process ID is printed of the content of the file', async () => {
    await lock();
    writeFileSync(join(rootDir, 'lock'), 'pid 1; run me instead\n');
    await expect(lock()).rejects.toThrow(`${rootDir} is in use by another instance: stop it`);
  });

  test('the programs that the holder starts do not hold the lock', async () => {
    await lock();
    const file = realpathSync(join(rootDir, 'lock'));
    const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
    children.push(child);
    await once(child, 'spawn');
    expect(openFiles()).toContain(file);
    expect(openFiles(child.pid ?? 0)).not.toContain(file);
  });

  test('a lock that was released twice is released once', async () => {
    const first = await lock();
    first.release();
    const second = await lock();
    first.release();
    await expect(lock()).rejects.toThrow('is in use');
    second.release();
  });

  test('a file of an older version that everybody may open is restricted to its owner', async () => {
    mkdirSync(rootDir);
    writeFileSync(join(rootDir, 'lock'), '', { mode: 0o666 });
    await lock();
    expect(statSync(join(rootDir, 'lock')).mode & 0o777).toBe(0o600);
  });

  test('a symbolic link in its place is refused', async () => {
    mkdirSync(rootDir);
    symlinkSync(join(dir, 'elsewhere'), join(rootDir, 'lock'));
    await expect(lock()).rejects.toThrow(`--root-dir ${rootDir}: ELOOP`);
    expect(existsSync(join(dir, 'elsewhere'))).toBe(false);
  });

  test('without the program flock an error names it', () => {
    const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', HOLD, rootDir];
    const { status, stderr } = spawnSync(process.execPath, args, { env: { PATH: dir }, encoding: 'utf8' });
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining(
        `${rootDir}/lock cannot be locked: the program flock of util-linux is not installed`,
      ),
    ]);
  });

  testAsRoot('the lock holds in another network namespace', async () => {
    const { pid } = await holder();
    const { status, stderr } = tryAs('unshare', '--net');
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining(`is in use by another instance (pid ${pid})`),
    ]);
  });

  testAsRoot('another local user cannot take the lock', async () => {
    (await lock()).release();
    chmodSync(dir, 0o755);
    const { status, stderr } = spawnSync(
      'setpriv',
      ['--reuid=65534', '--regid=65534', '--clear-groups', 'flock', '-n', join(rootDir, 'lock'), 'true'],
      { encoding: 'utf8' },
    );
    expect([status, stderr]).toEqual([66, expect.stringContaining('Permission denied')]);
  });

  testAsRoot('it is locked on a full disk, and no former holder is named', async () => {
    const disk = mountSmallDisk(dir);
    try {
      rootDir = join(disk.path, 'root');
      (await lock()).release();
      disk.fill();
      await lock();
      await expect(lock()).rejects.toThrow(`is in use by another instance (pid ${process.pid})`);
      await expect(lock(join(disk.path, 'fresh'))).rejects.toThrow(
        /^--root-dir .*\/disk\/fresh: ENOSPC: [^\n]*: make room on its disk$/,
      );
      // A holder on a full disk may not have written its process ID.
      writeFileSync(join(disk.path, 'empty'), '');
      const other = lockFile(join(disk.path, 'empty'));
      expect(lockFile(join(disk.path, 'empty'))).toEqual({ holder: undefined });
      if ('release' in other) other.release();
    } finally {
      for (const held of locks.splice(0)) held.release();
      disk.unmount();
    }
  });

  testAsRoot('on a read-only file system a new folder is refused, and a former one is locked', async () => {
    const disk = mountSmallDisk(dir);
    try {
      rootDir = join(disk.path, 'root');
      (await lock()).release();
      disk.remountReadOnly();
      await lock();
      await expect(lock()).rejects.toThrow('is in use');
      const fresh = lock(join(disk.path, 'fresh'));
      await expect(fresh).rejects.toMatchObject({ kind: 'InvalidArgument' });
      await expect(fresh).rejects.toThrow(
        /^--root-dir .*\/disk\/fresh: EROFS: [^\n]*that this user may write$/,
      );
    } finally {
      for (const held of locks.splice(0)) held.release();
      disk.unmount();
    }
  });

  test('a folder that cannot be made is named, with what to do', async () => {
    writeFileSync(join(dir, 'file'), '');
    const path = join(dir, 'file', 'root');
    const failed = lock(path);
    await expect(failed).rejects.toMatchObject({ kind: 'InvalidArgument' });
    await expect(failed).rejects.toThrow(`--root-dir ${path}: `);
    await expect(failed).rejects.toThrow('give a folder that this user may write');
  });
});
