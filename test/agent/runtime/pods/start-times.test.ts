import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { StartTimes } from '../../../../src/agent/runtime/pods/start-times.ts';
import { ALL_PODS } from '../../../support/pod-search.ts';
import { testContext } from '../../../support/test-context.ts';
import { silentLogger } from '../../../support/silent-logger.ts';

const FIRST = '2030-01-01T00:00:00Z';
const LATER = '2030-01-01T01:00:00Z';
const ROOT = process.getuid?.() === 0;

let podsDir: string;
let warnings: string[];

beforeEach(() => {
  podsDir = mkdtempSync(join(tmpdir(), 'statelet-starts-'));
  warnings = [];
});
afterEach(() => rmSync(podsDir, { recursive: true }));

/** The start times of a new agent on the same folder. */
const agent = () =>
  new StartTimes(
    testContext({ logger: { ...silentLogger, warn: (_, message) => void warnings.push(message) } }),
    podsDir,
  );
const record = (uid: string) => join(podsDir, uid, 'start-time');

test('the first start time of a pod is kept in a file for the next agent', async () => {
  expect(await agent().of('u-1', FIRST)).toBe(FIRST);
  expect(readFileSync(record('u-1'), 'utf8')).toBe(`${FIRST}\n`);
  expect(statSync(record('u-1')).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(podsDir, 'u-1'))).toEqual(['start-time']);
  const next = agent();
  expect(await next.of('u-1', LATER)).toBe(FIRST);
  expect(await next.of('u-1', LATER)).toBe(FIRST);
});

test('the record is written once, and not read again by the same agent', async () => {
  const starts = agent();
  await starts.of('u-1', FIRST);
  rmSync(record('u-1'));
  expect(await starts.of('u-1', LATER)).toBe(FIRST);
  expect(existsSync(record('u-1'))).toBe(false);
});

test('a pod that starts again after its record was removed has a new start time', async () => {
  const starts = agent();
  await starts.of('u-1', FIRST);
  await starts.remove('u-1');
  expect(readdirSync(podsDir)).toEqual([]);
  expect(await starts.of('u-1', LATER)).toBe(LATER);
});

test('removing a record leaves the other files of the pod', async () => {
  const starts = agent();
  await starts.of('u-1', FIRST);
  writeFileSync(join(podsDir, 'u-1', 'etc-hosts'), '');
  await starts.remove('u-1');
  expect(readdirSync(join(podsDir, 'u-1'))).toEqual(['etc-hosts']);
  await starts.remove('u-2');
});

test.each(['', 'yesterday', '2030-01-01'])(
  'a record without a valid time (%j) is written again',
  async (text) => {
    mkdirSync(join(podsDir, 'u-1'));
    writeFileSync(record('u-1'), text);
    expect(await agent().of('u-1', LATER)).toBe(LATER);
    expect(readFileSync(record('u-1'), 'utf8')).toBe(`${LATER}\n`);
  },
);

test('an unfinished record of a killed agent is replaced, or removed with the pod', async () => {
  for (const uid of ['u-1', 'u-2']) {
    mkdirSync(join(podsDir, uid));
    writeFileSync(record(uid), '2030-0');
  }
  const starts = agent();
  expect([...(await starts.podsOnDisk(ALL_PODS.isKnown))].sort()).toEqual(['u-1', 'u-2']);
  expect(await starts.of('u-1', FIRST)).toBe(FIRST);
  expect(readFileSync(record('u-1'), 'utf8')).toBe(`${FIRST}\n`);
  await starts.remove('u-2');
  expect(readdirSync(podsDir)).toEqual(['u-1']);
});

test('the empty folder of an agent that was killed before it began the record is found and removed', async () => {
  mkdirSync(join(podsDir, 'u-1'));
  mkdirSync(join(podsDir, 'default_web_u-2'));
  const starts = agent();
  expect(await starts.podsOnDisk(ALL_PODS.isKnown)).toEqual(['u-1']);
  await starts.remove('u-1');
  expect(readdirSync(podsDir)).toEqual(['default_web_u-2']);
});

test('podsOnDisk lists the folders with a record, and no other folder', async () => {
  const starts = agent();
  expect(await new StartTimes(testContext(), join(podsDir, 'none')).podsOnDisk(ALL_PODS.isKnown)).toEqual([]);
  await starts.of('u-1', FIRST);
  mkdirSync(join(podsDir, 'default_web_u-2', 'main'), { recursive: true });
  expect(await starts.podsOnDisk(ALL_PODS.isKnown)).toEqual(['u-1']);
  expect(await starts.podsOnDisk((uid) => uid === 'u-1')).toEqual([]);
});

test('a record that cannot be written does not delay its pod, leads to one warning, and is tried again', async () => {
  const starts = agent();
  writeFileSync(join(podsDir, 'u-1'), 'in the way');
  writeFileSync(join(podsDir, 'u-2'), 'in the way');
  expect(await starts.of('u-1', FIRST)).toBe(FIRST);
  expect(await starts.of('u-2', FIRST)).toBe(FIRST);
  expect(warnings).toEqual([expect.stringMatching(/^Cannot record when pods started.*ENOTDIR/)]);
  rmSync(join(podsDir, 'u-1'));
  expect(await starts.of('u-1', LATER)).toBe(FIRST);
  expect(await agent().of('u-1', LATER)).toBe(FIRST);
});

(ROOT ? test : test.skip)('a failed write leaves no files on a full disk', async () => {
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'starts', podsDir]);
  try {
    expect(() => writeFileSync(join(podsDir, 'filler'), Buffer.alloc(1 << 20))).toThrow('ENOSPC');
    const starts = agent();
    expect(await starts.of('u-1', FIRST)).toBe(FIRST);
    expect(readdirSync(podsDir)).toEqual(['filler']);
    expect(warnings).toEqual([expect.stringContaining('ENOSPC')]);
    rmSync(join(podsDir, 'filler'));
    expect(await starts.of('u-1', LATER)).toBe(FIRST);
    expect(readFileSync(record('u-1'), 'utf8')).toBe(`${FIRST}\n`);
  } finally {
    execFileSync('umount', [podsDir]);
  }
});

test('the start time of a UID that cannot be a folder name is kept only in memory', async () => {
  const starts = agent();
  expect(await starts.of('../u', FIRST)).toBe(FIRST);
  expect(await starts.of('../u', LATER)).toBe(FIRST);
  await starts.remove('../u');
  expect(readdirSync(podsDir)).toEqual([]);
});
