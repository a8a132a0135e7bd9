import { execFileSync } from 'node:child_process';
import {
  chmodSync,
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
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { compressedLogNames } from '../../../src/policies/garbage/log-rotation.ts';
import { compressLog } from '../../../src/runtime/logs/compress-log.ts';

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

test('a pipe in place of the log holds nothing up', async () => {
  rmSync(join(dir, NAME));
  execFileSync('mkfifo', [join(dir, NAME)]);
  await expect(compressLog(join(dir, NAME), new AbortController().signal)).rejects.toThrow('a named pipe');
});
