import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { KnownContainers } from '../../../../src/agent/runtime/pods/known-containers.ts';
import { testContext } from '../../../support/test-context.ts';
import { silentLogger } from '../../../support/silent-logger.ts';

let podsDir: string;
let warnings: string[];
const open = () =>
  new KnownContainers(
    testContext({ logger: { ...silentLogger, warn: (_fields, message) => void warnings.push(message) } }),
    podsDir,
  );
const file = () => join(podsDir, 'uid', 'known-containers');

beforeEach(() => {
  podsDir = mkdtempSync(join(tmpdir(), 'statelet-memory-'));
  warnings = [];
});
afterEach(() => rmSync(podsDir, { recursive: true }));

test('stored facts of a container are known to the next agent, each field by itself', async () => {
  const memory = open();
  await memory.note('uid', 'a', { hooked: true });
  await memory.note('uid', 'a', { started: true, ready: false });
  const next = open();
  expect(next.of('uid', 'a')).toBeUndefined();
  next.recall('uid');
  expect([next.of('uid', 'a'), next.of('uid', 'b')]).toEqual([
    { hooked: true, started: true, ready: false },
    {},
  ]);
  expect(statSync(file()).mode & 0o777).toBe(0o600);
});

test('what a resize has granted and given is known to the next agent', async () => {
  const memory = open();
  const allocation = { containers: { a: { requests: { cpu: '200m' } } } };
  const given = { container: { requests: { cpu: '100m' } } };
  await Promise.all([memory.allocate('uid', allocation), memory.note('uid', 'id-a', { given })]);
  const next = open();
  expect(next.allocation('uid')).toEqual(allocation);
  expect(next.of('uid', 'id-a')).toEqual({ given });
  expect(next.allocation('other')).toBeUndefined();
});

test.each([['a text'], [{ containers: ['x'] }], [{ containers: { a: 'x' } }], [{}]])(
  'an allocation that is %j counts as none',
  (allocation) => {
    mkdirSync(join(podsDir, 'uid'));
    writeFileSync(file(), JSON.stringify({ containers: {}, allocation }));
    expect(open().allocation('uid')).toBeUndefined();
  },
);

test('facts that are stored at the same time are all kept, and those of a removed pod are gone', async () => {
  const memory = open();
  await Promise.all(['a', 'b', 'c'].map((id) => memory.note('uid', id, { hooked: true })));
  const next = open();
  next.recall('uid');
  expect(['a', 'b', 'c'].map((id) => next.of('uid', id))).toEqual(Array(3).fill({ hooked: true }));
  const late = memory.note('uid', 'd', { ready: true });
  await memory.remove('uid');
  await late;
  expect(readdirSync(join(podsDir, 'uid'))).toEqual([]);
  expect(memory.of('uid', 'a')).toBeUndefined();
});

test.each(['', '{"half', '[]', '{"containers":{"a":5,"b":{"hooked":"yes","ready":1}}}'])(
  'a file with the content %j has no facts of the containers',
  (content) => {
    mkdirSync(join(podsDir, 'uid'));
    writeFileSync(file(), content);
    const memory = open();
    memory.recall('uid');
    expect(['a', 'b'].map((id) => memory.of('uid', id))).toEqual([{}, {}]);
  },
);

test('if nothing can be written, the agent goes on, keeps the facts in memory, and logs it once', async () => {
  writeFileSync(join(podsDir, 'uid'), 'no folder');
  const memory = open();
  await memory.note('uid', 'a', { hooked: true });
  await memory.note('uid', 'b', { hooked: true });
  expect(memory.of('uid', 'b')).toEqual({ hooked: true });
  expect(warnings).toEqual([expect.stringContaining('postStart hooks may run again')]);
});
