import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  lockRootDir,
  openEndedPodsFile,
  openInstanceCounts,
  openShutdownRecord,
  type RootLock,
} from '../../../../src/agent/runtime/node/root-files.ts';
import { lockFile } from '../../../../src/system/file-lock.ts';
import { mountSmallDisk, testAsRoot } from '../../../support/as-root.ts';
import { openFiles } from '../../../support/held-open.ts';
import { holdStill } from '../../../support/hold-still.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';

describe('ended pods file', () => {
  let rootDir: string;
  let file: string;
  beforeEach(async () => {
    rootDir = await mkdtemp(join(tmpdir(), 'statelet-deleted-'));
    file = join(rootDir, 'ended-pods.json');
  });
  afterEach(async () => rm(rootDir, { recursive: true }));

  test('what is written is there after the next start, for the owner alone', async () => {
    const { logger, lines } = recordingLogger();
    const pods = [
      { uid: 'a' },
      { uid: 'b', gracePeriodSeconds: 3, content: 'c0ffee' },
      { uid: 'c', status: { phase: 'Failed', reason: 'Evicted' } },
    ];
    const first = openEndedPodsFile(rootDir, logger);
    expect(first.stored).toEqual([]);
    await first.write(pods);
    expect(openEndedPodsFile(rootDir, logger).stored).toEqual(pods);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(lines).toEqual([]);
  });

  test.each([
    '',
    '{"pods":',
    'null',
    '[]',
    '{"pods":[{"uid":1}]}',
    '{"pods":[{"uid":"a","gracePeriodSeconds":"x"}]}',
    '{"pods":[{"uid":"a","status":null}]}',
    '{"pods":[{"uid":"a","status":{}}]}',
  ])('a damaged file is reported, and is replaced by the next deletion: %s', async (text) => {
    await writeFile(file, text);
    const { logger, lines } = recordingLogger();
    const opened = openEndedPodsFile(rootDir, logger);
    expect(opened.stored).toEqual([]);
    expect(lines).toEqual([{ level: 'warn', message: expect.stringContaining(`${file} cannot be read`) }]);
    await opened.write([{ uid: 'a' }]);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ pods: [{ uid: 'a' }] });
  });

  test('what is not a file is reported, and holds nothing up: nobody writes into this pipe', () => {
    execFileSync('mkfifo', [file]);
    const { logger, lines } = recordingLogger();
    expect(openEndedPodsFile(rootDir, logger).stored).toEqual([]);
    expect(lines.map(({ message }) => message).join()).toContain(`${file} is not a file`);
  });

  test('a write that fails rejects', async () => {
    const opened = openEndedPodsFile(join(rootDir, 'missing'), recordingLogger().logger);
    await expect(opened.write([{ uid: 'a' }])).rejects.toThrow('ENOENT');
  });
});

describe('past lives file', () => {
  let rootDir: string;
  let file: string;
  let warnings: string[];
  beforeEach(() => {
    rootDir = mkdtempSync(join(tmpdir(), 'statelet-lives-'));
    file = join(rootDir, 'past-lives.json');
    warnings = [];
  });
  afterEach(() => rmSync(rootDir, { recursive: true }));

  const open = () =>
    openInstanceCounts(rootDir, { warn: (_: object, message: string) => void warnings.push(message) });
  const lifeOf = (uid: string) => ({ uid, instances: { main: 2 }, endedAt: 5 });

  test('what is written is there after the next start, for the owner alone; of several writes the last one stays', async () => {
    const first = open();
    expect(first.stored).toEqual([]);
    await Promise.all([first.write([lifeOf('a')]), first.write([lifeOf('b')])]);
    expect(open().stored).toEqual([lifeOf('b')]);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(warnings).toEqual([]);
  });

  test.each([
    '',
    '{"lives":',
    'null',
    '{"lives":[{"uid":"a"}]}',
    '{"lives":[{"uid":"a","instances":{"m":"x"},"endedAt":1}]}',
  ])('a damaged file is reported, and replaced by the next write: %s', async (text) => {
    writeFileSync(file, text);
    const damaged = open();
    expect(damaged.stored).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining(`${file} cannot be read`)]);
    await damaged.write([lifeOf('a')]);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ lives: [lifeOf('a')] });
  });
});

describe('shutdown record', () => {
  const START = Date.UTC(2030, 0, 1, 12, 0, 0, 123);
  const NOTHING = { startMs: undefined, endMs: undefined };

  let rootDir: string;
  let file: string;
  beforeEach(() => {
    rootDir = mkdtempSync(join(tmpdir(), 'statelet-shutdown-'));
    file = join(rootDir, 'graceful_node_shutdown_state');
  });
  afterEach(() => rmSync(rootDir, { recursive: true }));

  test('the next agent knows when the last shutdown began, and whether it came to its end', async () => {
    const { logger, lines } = recordingLogger();
    const record = openShutdownRecord(rootDir, logger);
    expect(record.stored).toEqual(NOTHING);
    await record.write(START, undefined);
    expect(openShutdownRecord(rootDir, logger).stored).toEqual({ startMs: START, endMs: undefined });
    await record.write(START, START + 5000);
    expect(openShutdownRecord(rootDir, logger).stored).toEqual({ startMs: START, endMs: START + 5000 });
    expect(lines).toEqual([]);
  });

  test("the file is the kubelet's, so that either agent reads what the other has written", async () => {
    const { logger } = recordingLogger();
    await openShutdownRecord(rootDir, logger).write(START, undefined);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      startTime: '2030-01-01T12:00:00.123000000Z',
      endTime: '0001-01-01T00:00:00Z',
    });
    writeFileSync(
      file,
      '{"startTime":"2030-01-01T13:00:00.5+01:00","endTime":"2030-01-01T13:00:07.987654321+01:00"}',
    );
    const { startMs, endMs } = openShutdownRecord(rootDir, logger).stored;
    expect([startMs, Math.floor(endMs ?? 0)]).toEqual([
      Date.UTC(2030, 0, 1, 12, 0, 0, 500),
      Date.UTC(2030, 0, 1, 12, 0, 7, 987),
    ]);
  });

  test.each(['', 'null', '{"startTime":5}', '{"startTime":"soon"}'])(
    'a damaged file is named, and is replaced by the next shutdown: %s',
    async (text) => {
      const { logger, lines } = recordingLogger();
      writeFileSync(file, text);
      const record = openShutdownRecord(rootDir, logger);
      expect(record.stored).toEqual(NOTHING);
      expect(lines.map(({ message }) => message).join()).toContain(`${file} cannot be read`);
      await record.write(START, START);
      expect(openShutdownRecord(rootDir, logger).stored).toEqual({ startMs: START, endMs: START });
    },
  );

  test('what is not a file is named, and holds nothing up: nobody writes into this pipe', async () => {
    const { logger, lines } = recordingLogger();
    execFileSync('mkfifo', [file]);
    const record = openShutdownRecord(rootDir, logger);
    expect(record.stored).toEqual(NOTHING);
    expect(lines.map(({ message }) => message).join()).toContain(`${file} is not a file`);
    await record.write(START, START);
    expect(openShutdownRecord(rootDir, logger).stored).toEqual({ startMs: START, endMs: START });
  });

  test('a shutdown goes on where the file cannot be written, and a line says so', async () => {
    const { logger, lines } = recordingLogger();
    const record = openShutdownRecord(rootDir, logger);
    mkdirSync(file);
    await record.write(START, undefined);
    expect(lines.map(({ message }) => message).join()).toContain(`${file} cannot be written`);
  });
});

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
    return spawnSync(program, args, { encoding: 'utf8', timeout: 30_000 });
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

  test('an agent that comes by another path is refused, too', async () => {
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

  test('a suspended holder (Ctrl-Z) does not hold up an agent that asks', async () => {
    const child = await holder();
    await holdStill(child.pid ?? 0);
    await expect(lock()).rejects.toThrow(`is in use by another instance (pid ${String(child.pid)})`);
  });

  test('of what stands in the file only a process ID is printed', async () => {
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

  test("a file of former days that everybody may open becomes its owner's alone", async () => {
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
