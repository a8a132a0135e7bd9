import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PodLogs } from '../../../src/runtime/logs/pod-logs.ts';

const WEB = { name: 'web', namespace: 'default', uid: 'uid-web' };
let dir: string;
let logs: PodLogs;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-logs-'));
  logs = new PodLogs(dir);
});
afterEach(() => rmSync(dir, { recursive: true }));

function write(folder: string, file: string): void {
  mkdirSync(join(dir, folder), { recursive: true });
  writeFileSync(join(dir, folder, file), '');
}

test('tell how many instances of a container there have been', () => {
  expect(logs.pastInstances(WEB, 'main')).toBe(0);
  write('default_web_uid-web/main', '2.log');
  expect([logs.pastInstances(WEB, 'main'), logs.pastInstances(WEB, 'side')]).toEqual([3, 0]);
});

test('tell whose they are, and go with their pod; what is not a pod’s stays', async () => {
  for (const folder of ['default_web_uid-web', 'default_old_uid-old', 'lost+found']) write(folder, '0.log');
  const uids = (await logs.pods()).map(({ uid }) => uid);
  expect(uids.toSorted()).toEqual(['uid-old', 'uid-web']);
  await logs.remove(WEB);
  expect(readdirSync(dir).sort()).toEqual(['default_old_uid-old', 'lost+found']);
});

test('that are not there need no removal', async () => {
  rmSync(dir, { recursive: true });
  await logs.remove(WEB);
  expect(await logs.pods()).toEqual([]);
  mkdirSync(dir);
});
