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
import { StartTimes } from '../../../src/runtime/pods/start-times.ts';

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

/** What an agent of its own remembers. */
const agent = () =>
  new StartTimes({ podsDir, logger: { warn: (_, message) => void warnings.push(message) } });
const record = (uid: string) => join(podsDir, uid, 'start-time');

test('the first start of a pod outlives the agent, in a file of its own', async () => {
  expect(await agent().of('u-1', FIRST)).toBe(FIRST);
  expect(readFileSync(record('u-1'), 'utf8')).toBe(`${FIRST}\n`);
  expect(statSync(record('u-1')).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(podsDir, 'u-1'))).toEqual(['start-time']);
  const next = agent();
  expect(await next.of('u-1', LATER)).toBe(FIRST);
  expect(await next.of('u-1', LATER)).toBe(FIRST);
});

test('the record is written once, and not looked at again by the same agent', async () => {
  const starts = agent();
  await starts.of('u-1', FIRST);
  rmSync(record('u-1'));
  expect(await starts.of('u-1', LATER)).toBe(FIRST);
  expect(existsSync(record('u-1'))).toBe(false);
});

test('a pod that starts again after it was forgotten has a start of its own', async () => {
  const starts = agent();
  await starts.of('u-1', FIRST);
  await starts.remove('u-1');
  expect(readdirSync(podsDir)).toEqual([]);
  expect(await starts.of('u-1', LATER)).toBe(LATER);
});

test('forgetting leaves what others keep in the folder', async () => {
  const starts = agent();
  await starts.of('u-1', FIRST);
  writeFileSync(join(podsDir, 'u-1', 'etc-hosts'), '');
  await starts.remove('u-1');
  expect(readdirSync(join(podsDir, 'u-1'))).toEqual(['etc-hosts']);
  await starts.remove('u-2');
});

test.each(['', 'yesterday', '2030-01-01'])(
  'a record that says nothing (%j) is written anew',
  async (text) => {
    mkdirSync(join(podsDir, 'u-1'));
    writeFileSync(record('u-1'), text);
    expect(await agent().of('u-1', LATER)).toBe(LATER);
    expect(readFileSync(record('u-1'), 'utf8')).toBe(`${LATER}\n`);
  },
);

test('what an agent that was killed left half done is replaced, or goes with the pod', async () => {
  for (const uid of ['u-1', 'u-2']) {
    mkdirSync(join(podsDir, uid));
    writeFileSync(join(podsDir, uid, 'start-time.tmp'), '2030-0');
  }
  const starts = agent();
  expect([...(await starts.podsOnDisk())].sort()).toEqual(['u-1', 'u-2']);
  await starts.of('u-1', FIRST);
  expect(readdirSync(join(podsDir, 'u-1'))).toEqual(['start-time']);
  await starts.remove('u-2');
  expect(readdirSync(podsDir)).toEqual(['u-1']);
});

test('lists the pods that have a record, and no other folder', async () => {
  const starts = agent();
  expect(
    await new StartTimes({ podsDir: join(podsDir, 'none'), logger: { warn: () => undefined } }).podsOnDisk(),
  ).toEqual([]);
  await starts.of('u-1', FIRST);
  mkdirSync(join(podsDir, 'default_web_u-2', 'main'), { recursive: true });
  expect(await starts.podsOnDisk()).toEqual(['u-1']);
});

test('a disk that refuses the record holds up no pod, is complained of once, and is tried again', async () => {
  const starts = agent();
  writeFileSync(join(podsDir, 'u-1'), 'in the way');
  writeFileSync(join(podsDir, 'u-2'), 'in the way');
  expect(await starts.of('u-1', FIRST)).toBe(FIRST);
  expect(await starts.of('u-2', FIRST)).toBe(FIRST);
  expect(warnings).toEqual([expect.stringMatching(/^Cannot record when pods started.*EEXIST/)]);
  rmSync(join(podsDir, 'u-1'));
  expect(await starts.of('u-1', LATER)).toBe(FIRST);
  expect(await agent().of('u-1', LATER)).toBe(FIRST);
});

(ROOT ? test : test.skip)('a full disk is left as it was', async () => {
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

test('a UID that cannot be the name of a folder is only remembered', async () => {
  const starts = agent();
  expect(await starts.of('../u', FIRST)).toBe(FIRST);
  expect(await starts.of('../u', LATER)).toBe(FIRST);
  await starts.remove('../u');
  expect(readdirSync(podsDir)).toEqual([]);
});
