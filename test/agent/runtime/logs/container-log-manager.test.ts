import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { compressedLogNames } from '../../../../src/agent/policies/garbage/log-rotation.ts';
import {
  compressLog,
  ContainerLogManager,
  type ContainerLogManagerParts,
  type LoggedContainer,
  removeLogs,
  rotateLog,
} from '../../../../src/agent/runtime/logs/container-log-manager.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { StateletError } from '../../../../src/types/errors.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { warnings } from '../../../support/warnings.ts';
import { testContext } from '../../../support/test-context.ts';

describe('container log manager', () => {
  const PERIOD_MS = 10_000;
  const BIG = 'x'.repeat(1000);

  let dir: string;
  let log: string;
  let clock: VirtualClock;
  let containers: LoggedContainer[];
  let reopened: string[];
  /** What the runtime does when it is told to open a log anew. */
  let reopen: (path: string) => void | Promise<void>;
  let manager: ContainerLogManager;
  let told: readonly string[];

  const start = (options: Partial<ContainerLogManagerParts> = {}): void => {
    const { logger, messages } = warnings();
    told = messages;
    const reopenContainerLog = async (id: string): Promise<void> => {
      reopened.push(id);
      await reopen(containers.find((container) => container.id === id)?.logPath ?? '');
    };
    manager = new ContainerLogManager(testContext({ clock, logger }), {
      runtime: { reopenContainerLog },
      containers: () => containers,
      maxSizeBytes: 1000,
      maxFiles: 5,
      maxWorkers: 1,
      monitorPeriodMs: PERIOD_MS,
      ...options,
    });
    manager.start();
  };
  /** Lets the manager look at the logs once. */
  const look = async (): Promise<void> => {
    await clock.advance(PERIOD_MS - 1);
    await clock.advance(1);
    await waitFor(() => clock.armed > 0, { what: 'the end of the round' });
  };
  const names = (): string[] => readdirSync(dir).sort();
  const rotated = (): string[] => names().filter((name) => name !== '0.log');
  const contents = (name: string): string => {
    const bytes = readFileSync(join(dir, name));
    return (name.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString();
  };

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-rotation-'));
    log = join(dir, '0.log');
    clock = new VirtualClock();
    containers = [{ id: 'c', logPath: log }];
    reopened = [];
    reopen = (path) => writeFileSync(path, '', { flag: 'a' });
  });

  afterEach(async () => {
    await manager.stop();
    expect(clock.armed).toBe(0);
    rmSync(dir, { recursive: true });
  });

  describe('a log', () => {
    test('below the maximum size is not rotated', async () => {
      writeFileSync(log, BIG.slice(1));
      start();
      await look();
      expect(names()).toEqual(['0.log']);
      expect(reopened).toEqual([]);
    });

    test('of the maximum size is moved aside, and the runtime opens a new one', async () => {
      writeFileSync(log, BIG);
      start();
      await look();
      expect(reopened).toEqual(['c']);
      expect(names()).toEqual(['0.log', '0.log.20300101-000010']);
      expect(contents('0.log.20300101-000010')).toBe(BIG);
      expect(contents('0.log')).toBe('');
    });

    test('keeps the newest rotated one as it is, gzips older ones, and never has too many', async () => {
      start({ maxFiles: 4 });
      for (let round = 0; round < 6; round++) {
        writeFileSync(log, `${round} ${BIG}`);
        await look();
      }
      expect(names()).toEqual([
        '0.log',
        '0.log.20300101-000040.gz',
        '0.log.20300101-000050.gz',
        '0.log.20300101-000100',
      ]);
      expect(rotated().map((name) => contents(name))).toEqual([3, 4, 5].map((round) => `${round} ${BIG}`));
      expect(told).toEqual([]);
    });

    test('has leftovers of a crash removed, and nothing else', async () => {
      for (const name of [
        '0.log.20290101-000000.tmp',
        '1.log.20290101-000000.tmp',
        '0.log.mine',
        'foreign',
      ]) {
        writeFileSync(join(dir, name), '');
      }
      writeFileSync(log, BIG);
      start();
      await look();
      expect(rotated()).toEqual([
        '0.log.20300101-000010',
        '0.log.mine',
        '1.log.20290101-000000.tmp',
        'foreign',
      ]);
    });

    test('that was removed from outside is opened anew', async () => {
      start();
      await look();
      expect(reopened).toEqual(['c']);
      expect(names()).toEqual(['0.log']);
    });

    test('is never rotated if the size is negative; a container without a log is no problem', async () => {
      containers.push({ id: 'd', logPath: '' });
      writeFileSync(log, BIG);
      start();
      await look();
      expect(told).toEqual([]);
      await manager.stop();
      writeFileSync(log, BIG);
      start({ maxSizeBytes: -1 });
      expect(clock.armed).toBe(0);
    });
  });

  describe('when the runtime cannot open a new log,', () => {
    const fail = (kind: 'Unavailable' | 'NotFound', text: string) => () => {
      throw new StateletError(kind, text);
    };

    test('the log is put back, and rotated later', async () => {
      writeFileSync(log, BIG);
      reopen = fail('Unavailable', 'no space left on device');
      start();
      await look();
      expect(names()).toEqual(['0.log']);
      expect(contents('0.log')).toBe(BIG);
      reopen = (path) => writeFileSync(path, '');
      await look();
      expect(names()).toEqual(['0.log', '0.log.20300101-000020']);
    });

    test('a new log that is there all the same is not written over', async () => {
      writeFileSync(log, BIG);
      reopen = (path) => {
        writeFileSync(path, 'new');
        throw new StateletError('DeadlineExceeded', 'too late');
      };
      start();
      await look();
      expect(contents('0.log')).toBe('new');
      expect(contents('0.log.20300101-000010')).toBe(BIG);
    });

    test('that is logged once, until it changes or is over', async () => {
      writeFileSync(log, BIG);
      reopen = fail('Unavailable', 'first');
      start();
      for (let round = 0; round < 3; round++) await look();
      expect(told).toEqual(['Log cannot be rotated as it should be: first']);
      reopen = fail('Unavailable', 'second');
      for (let round = 0; round < 2; round++) await look();
      expect(told).toHaveLength(2);
      reopen = (path) => writeFileSync(path, '');
      await look();
      reopen = fail('Unavailable', 'second');
      writeFileSync(log, BIG);
      await look();
      expect(told).toHaveLength(3);
    });

    test('a message that names another file each time is still the same problem', async () => {
      writeFileSync(log, BIG);
      reopen = () => {
        throw Object.assign(new Error(`EROFS: ${clock.now()}`), { code: 'EROFS' });
      };
      start();
      for (let round = 0; round < 3; round++) await look();
      expect(told).toHaveLength(1);
    });

    test('because the container has ended, is no problem', async () => {
      writeFileSync(log, BIG);
      reopen = fail('NotFound', 'no such container');
      start();
      await look();
      expect(told).toEqual([]);
      expect(names()).toEqual(['0.log']);
    });
  });

  const isRoot = process.getuid?.() === 0;
  if (!isRoot) process.stderr.write('SKIPPED: the test of a full disk needs root, to mount a small one\n');

  (isRoot ? test : test.skip)('on a full disk the log is rotated; older ones wait for room', async () => {
    const older = randomBytes(40_000);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128k', 'tmpfs', dir]);
    try {
      writeFileSync(join(dir, '0.log.20290101-000000'), older);
      writeFileSync(log, BIG);
      expect(() => writeFileSync(join(dir, 'filler'), 'x'.repeat(128_000))).toThrow('ENOSPC');
      start();
      await look();
      expect(names()).toEqual(['0.log', '0.log.20290101-000000', '0.log.20300101-000010', 'filler']);
      expect(contents('0.log.20300101-000010')).toBe(BIG);
      expect(told).toEqual([expect.stringContaining('ENOSPC')]);

      rmSync(join(dir, 'filler'));
      writeFileSync(log, BIG);
      await look();
      expect(names()).toEqual(
        ['0.log', '0.log.20290101-000000.gz', '0.log.20300101-000010.gz', '0.log.20300101-000020'].sort(),
      );
      expect(gunzipSync(readFileSync(join(dir, '0.log.20290101-000000.gz'))).equals(older)).toBe(true);
      expect(told).toHaveLength(1);
    } finally {
      execFileSync('umount', [dir]);
    }
  });

  test('logs are rotated side by side by as many workers as there may be', async () => {
    containers = ['a', 'b', 'c'].map((id) => ({ id, logPath: join(dir, id, '0.log') }));
    for (const { logPath } of containers) {
      mkdirSync(join(logPath, '..'));
      writeFileSync(logPath, BIG);
    }
    const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
    reopen = () => released;
    start({ maxWorkers: 2 });
    await clock.advance(PERIOD_MS);
    await waitFor(() => reopened.length === 2, { what: 'two workers' });
    release(undefined);
    await waitFor(() => reopened.length === 3, { what: 'the third log' });
    await waitFor(() => clock.armed > 0, { what: 'the end of the round' });
  });

  test('stop waits for the rotation that is under way, and no other begins', async () => {
    containers.push({ id: 'd', logPath: join(dir, 'd.log') });
    for (const { logPath } of containers) writeFileSync(logPath, BIG);
    const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
    reopen = (path) => released.then(() => writeFileSync(path, ''));
    start();
    await clock.advance(PERIOD_MS);
    await waitFor(() => reopened.length === 1, { what: 'the rotation' });
    let stopped = false;
    const stop = manager.stop().then(() => (stopped = true));
    await clock.advance(PERIOD_MS);
    expect(stopped).toBe(false);
    release(undefined);
    await stop;
    expect(reopened).toEqual(['c']);
    expect(names()).toEqual(['0.log', '0.log.20300101-000010', 'd.log']);
  });

  test('clean removes a log with what it was rotated into, and leaves its neighbours', async () => {
    const own = ['0.log', '0.log.20300101-000000', '0.log.20290101-000000.gz', '0.log.20280101-000000.tmp'];
    for (const name of [...own, '1.log', '0.log.mine']) writeFileSync(join(dir, name), '');
    start();
    await manager.clean(log);
    expect(names()).toEqual(['0.log.mine', '1.log']);
    await manager.clean(log);
    await manager.clean(join(dir, 'no', 'such', '0.log'));
    expect(existsSync(join(dir, 'no'))).toBe(false);
  });
});

describe('rotate log', () => {
  const NEVER = new AbortController().signal;
  const NOON_MS = Date.UTC(2030, 0, 1, 12, 0, 0);

  let dir: string;
  let logPath: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-rotate-'));
    logPath = join(dir, '0.log');
    writeFileSync(logPath, 'said');
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  const openNew = (): Promise<void> => {
    writeFileSync(logPath, '');
    return Promise.resolve();
  };
  const rotate = (reopen: () => Promise<void> = openNew) =>
    rotateLog({ logPath, maxFiles: 3, nowMs: NOON_MS, reopen, signal: NEVER });

  test('the log is renamed after the time, older logs are compressed, and the oldest are removed', async () => {
    writeFileSync(join(dir, '0.log.20290101-000000.gz'), 'too old');
    writeFileSync(join(dir, '0.log.20291231-000000'), 'older');
    await rotate();
    expect(readdirSync(dir).toSorted()).toEqual([
      '0.log',
      '0.log.20291231-000000.gz',
      '0.log.20300101-120000',
    ]);
    expect(readFileSync(join(dir, '0.log.20300101-120000'), 'utf8')).toBe('said');
    expect(gunzipSync(readFileSync(join(dir, '0.log.20291231-000000.gz'))).toString()).toBe('older');
  });

  test('when the runtime cannot open a new log, the log is where it was', async () => {
    await expect(rotate(() => Promise.reject(new Error('no answer')))).rejects.toThrow('no answer');
    expect(readdirSync(dir)).toEqual(['0.log']);
    expect(readFileSync(logPath, 'utf8')).toBe('said');
  });

  test('a new log that the runtime has opened without an answer is not overwritten', async () => {
    const reopen = async () => {
      await openNew();
      throw new Error('no answer in time');
    };
    await expect(rotate(reopen)).rejects.toThrow('no answer in time');
    expect(readFileSync(logPath, 'utf8')).toBe('');
    expect(existsSync(join(dir, '0.log.20300101-120000'))).toBe(true);
  });

  test('a log is removed with its rotated logs, and a folder that is gone is no error', async () => {
    for (const name of ['0.log.20300101-120000', '0.log.20300101-110000.gz', '1.log']) {
      writeFileSync(join(dir, name), '');
    }
    await removeLogs(logPath);
    expect(readdirSync(dir)).toEqual(['1.log']);
    await removeLogs(join(dir, 'none', '0.log'));
  });
});

describe('compress log', () => {
  const NAME = '0.log.20300101-120000';
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'statelet-compress-'));
    writeFileSync(join(dir, NAME), 'said');
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  test('the gzip takes the place of the log, with its content and its mode', async () => {
    chmodSync(join(dir, NAME), 0o640);
    await compressLog(join(dir, NAME), new AbortController().signal);
    expect(readdirSync(dir)).toEqual([`${NAME}.gz`]);
    expect(gunzipSync(readFileSync(join(dir, `${NAME}.gz`))).toString()).toBe('said');
    expect(statSync(join(dir, `${NAME}.gz`)).mode & 0o777).toBe(0o640);
  });

  test('a compression that is aborted leaves the log and no other file', async () => {
    const abort = AbortSignal.abort(new Error('the agent stops'));
    await expect(compressLog(join(dir, NAME), abort)).rejects.toThrow();
    expect(readdirSync(dir)).toEqual([NAME]);
  });

  test('a log that is gone rejects with the error of the system', async () => {
    await expect(compressLog(join(dir, 'none'), new AbortController().signal)).rejects.toMatchObject({
      code: 'ENOENT',
    });
  });

  test('a link in place of the log or of its draft leads neither the reading nor the writing elsewhere', async () => {
    const { signal } = new AbortController();
    writeFileSync(join(dir, 'secret'), 'secret');
    symlinkSync(join(dir, 'secret'), join(dir, '1.log.20300101-120000'));
    await expect(compressLog(join(dir, '1.log.20300101-120000'), signal)).rejects.toThrow('is not a file');
    symlinkSync(join(dir, 'secret'), compressedLogNames(join(dir, NAME)).temporary);
    await compressLog(join(dir, NAME), signal);
    expect(readFileSync(join(dir, 'secret'), 'utf8')).toBe('secret');
    expect(gunzipSync(readFileSync(join(dir, `${NAME}.gz`))).toString()).toBe('said');
  });

  test('a pipe in place of the log does not block', async () => {
    rmSync(join(dir, NAME));
    execFileSync('mkfifo', [join(dir, NAME)]);
    await expect(compressLog(join(dir, NAME), new AbortController().signal)).rejects.toThrow('a named pipe');
  });
});
