import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { holdsPodLogs } from '../../../src/runtime/logs/pod-logs-folder.ts';

const MADE = { uid: '0b0c5d4e-0000-4000-8000-000000000001' };
const OTHER = { uid: 'any-word' };
const LINE = '2026-01-01T00:00:00.123456789Z stdout F said\n';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-folder-'));
  mkdirSync(join(dir, 'main'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const write = (path: string, content = '') => writeFileSync(join(dir, path), content);

test('a folder of the UID of an agent counts by the names of its files', async () => {
  write('main/0.log');
  write('main/0.log.20300101-120000.gz');
  expect(await holdsPodLogs(dir, MADE)).toBe(true);
  expect(await holdsPodLogs(dir, OTHER)).toBe(false);
});

test('a folder of any other UID counts where one of its logs has a line of CRI', async () => {
  write('main/0.log', 'plain text\n');
  expect(await holdsPodLogs(dir, OTHER)).toBe(false);
  write('main/1.log', LINE);
  expect(await holdsPodLogs(dir, OTHER)).toBe(true);
});

test.each([
  ['a file beside the folders of containers', () => write('notes')],
  ['a file that is no log', () => write('main/notes.txt')],
  ['a link in the place of a log', () => symlinkSync('/etc/passwd', join(dir, 'main/1.log'))],
])('%s: the folder is not that of a pod', async (_what, add) => {
  write('main/0.log', LINE);
  add();
  expect(await holdsPodLogs(dir, MADE)).toBe(false);
});

test('a folder that cannot be read is not that of a pod', async () => {
  expect(await holdsPodLogs(join(dir, 'none'), MADE)).toBe(false);
});
