import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { removeLogs, rotateLog } from '../../../src/runtime/logs/rotate-log.ts';

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
  expect(readdirSync(dir).toSorted()).toEqual(['0.log', '0.log.20291231-000000.gz', '0.log.20300101-120000']);
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
