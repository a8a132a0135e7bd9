import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openPastLivesFile } from '../../../src/runtime/pods/past-lives-file.ts';

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
  openPastLivesFile(rootDir, { warn: (_: object, message: string) => void warnings.push(message) });
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
