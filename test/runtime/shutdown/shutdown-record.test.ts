import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openShutdownRecord } from '../../../src/runtime/shutdown/shutdown-record.ts';
import { recordingLogger } from '../../support/recording-logger.ts';

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
