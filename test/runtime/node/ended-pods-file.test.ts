import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openEndedPodsFile } from '../../../src/runtime/node/ended-pods-file.ts';
import { recordingLogger } from '../../support/recording-logger.ts';

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
