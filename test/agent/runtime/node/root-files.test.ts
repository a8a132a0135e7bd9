import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import {
  openEndedPodsFile,
  openInstanceCounts,
  openShutdownRecord,
} from '../../../../src/agent/runtime/node/root-files.ts';
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

  test('a path that is not a file is reported, and does not block: this pipe has no writer', () => {
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

  test('a path that is not a file is reported, and does not block: this pipe has no writer', async () => {
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
