/** `statelet record export` makes a file of a record, which `replay` and `timeline --file` read. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportRecord } from '../../../src/commands/record/export-record.ts';
import { replayRecord } from '../../../src/commands/record/replay-record.ts';
import { timeline } from '../../../src/commands/record/timeline.ts';
import { podOfActor } from '../../../src/recorder/policies/record-entry.ts';
import { recordOf } from '../../recorder/replay/support.ts';

let rootDir = '';
let printed = '';
const write = (text: string) => void (printed += text);
const lines = () => printed.trim().split('\n');

beforeEach(() => {
  rootDir = mkdtempSync(join(tmpdir(), 'statelet-export-'));
  printed = '';
});
afterEach(() => rmSync(rootDir, { recursive: true, force: true }));

async function simulated(): Promise<{ readonly folder: string; readonly record: string }> {
  const folder = join(rootDir, 'record');
  const record = await recordOf({ seed: 4, hours: 0.2 });
  mkdirSync(folder);
  writeFileSync(join(folder, '000001.jsonl'), record);
  return { folder, record };
}

const actorsOf = (record: string) =>
  Array.from(record.matchAll(/^\{"actor":\d+,"id":"([^"]+)"/gmu), ([, id = '']) => id);

function busiestPod(record: string): { readonly namespace: string; readonly name: string } {
  const pod = actorsOf(record)
    .map(podOfActor)
    .find((one) => one?.part === '');
  if (pod === undefined) throw new Error('the record has no pod');
  return pod;
}

test('a record that comes by a pipe is replayed as that of the file, and one without an end is refused', async () => {
  const { folder } = await simulated();
  const file = join(folder, '000001.jsonl');
  const pipe = join(rootDir, 'pipe');
  execFileSync('mkfifo', [pipe]);
  await replayRecord(file, undefined, {}, write);
  const ofFile = printed;
  printed = '';
  const writer = spawn('sh', ['-c', 'cat "$0" > "$1"', file, pipe]);
  await Promise.all([once(writer, 'close'), replayRecord(pipe, undefined, {}, write)]);
  expect(printed).toBe(ofFile);
  for (const path of ['/dev/zero', '/proc/kmsg'])
    await expect(replayRecord(path, undefined, {}, write)).rejects.toThrow(`cannot read ${path}: `);
});

test('of a pod and of the node, whole, with no actor of other pods, and never over another file', async () => {
  const { folder, record } = await simulated();
  const { namespace, name } = busiestPod(record);
  const output = join(rootDir, 'web.record');
  await exportRecord(`${namespace}/${name}`, { rootDir, output }, write);
  expect(lines()[0]).toBe(output);
  const text = readFileSync(output, 'utf8');
  expect(statSync(output).mode & 0o777).toBe(0o600);
  for (const id of actorsOf(text).filter((one) => !one.startsWith('preemption ')))
    expect(podOfActor(id) ?? { namespace, name }).toMatchObject({ namespace, name });
  expect(JSON.parse(text.trim().split('\n').at(-1) ?? '')).toMatchObject({ export: `${namespace}/${name}` });
  await expect(exportRecord(name, { rootDir, namespace, output }, write)).rejects.toMatchObject({
    kind: 'AlreadyExists',
    message: `${output} exists: name another file with --output`,
  });
  expect(readFileSync(output, 'utf8')).toBe(text);

  // The same transitions as in the whole record, with their data.
  // The supervisor's are in the file, and shown with the pod's where no pod is named.
  printed = '';
  await timeline(undefined, { file: output }, { write });
  expect(printed).toMatch(/ supervisor +CONFIG\.ADD /u);
  expect(printed).toMatch(/ pod +SyncPodCreate /u);
  const timelineOf = async (flags: { rootDir?: string; file?: string }) => {
    printed = '';
    await timeline(`${namespace}/${name}`, { ...flags, output: 'json' }, { write });
    return lines().filter((line) => line.includes('"type":"transition"'));
  };
  expect(await timelineOf({ file: output })).toEqual(await timelineOf({ rootDir }));

  const ofNode = join(rootDir, 'node.record');
  await exportRecord('node', { rootDir, output: ofNode }, write);
  for (const [path, pod] of [[folder], [output], [ofNode], [folder, 'node']] as const) {
    printed = '';
    await replayRecord(path, pod, {}, write);
    expect(printed).toMatch(/^\d+ actors?, \d+ transitions: no difference\n$/u);
  }
});

test('a difference is printed once, with its number, in JSON each time, and is a failure', async () => {
  const { folder, record } = await simulated();
  const changed = record.replaceAll(/("from":"Renewing",.*)"reportRenewal",/gu, '$1');
  expect(changed).not.toBe(record);
  writeFileSync(join(folder, '000001.jsonl'), changed);
  await expect(replayRecord(folder, undefined, {}, write)).rejects.toMatchObject({
    kind: 'FailedPrecondition',
  });
  expect(lines().slice(1, 4)).toEqual([
    '  xstate.done.actor.renewLease in Renewing',
    '  recorded  → Waiting / recordRenewal, endRound',
    '  now       → Waiting / reportRenewal, recordRenewal, endRound',
  ]);
  const [, count = ''] = /: (\d+) differences$/u.exec(lines().at(-1) ?? '') ?? [];
  expect(Number(count)).toBeGreaterThan(1);
  expect(lines()[0]).toContain(`and ${Number(count) - 1} more like it`);

  printed = '';
  await expect(replayRecord(folder, undefined, { output: 'json' }, write)).rejects.toThrow();
  const entries = lines().map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(entries.filter(({ type }) => type === 'difference')).toHaveLength(Number(count));
  expect(entries.at(-1)).toMatchObject({ type: 'summary', differences: Number(count), notReplayed: {} });
});

test('a file that is no record, has nothing of the pod or cannot be written is an error', async () => {
  const other = join(rootDir, 'other.txt');
  writeFileSync(other, 'hello\n');
  const replay = (path: string, pod?: string) => replayRecord(path, pod, {}, write);
  await expect(replay(other)).rejects.toMatchObject({
    kind: 'InvalidArgument',
    message: expect.stringMatching(/other\.txt has no record of transitions\na record is a file of /u),
  });
  await expect(replay(join(rootDir, 'none'))).rejects.toMatchObject({
    kind: 'InvalidArgument',
    message: expect.stringMatching(/^cannot read .*none: ENOENT/u),
  });
  const { folder } = await simulated();
  await expect(replay(folder, 'nobody')).rejects.toThrow(
    'has nothing about a pod "nobody" in namespace default',
  );
  await expect(exportRecord('nobody', { rootDir }, write)).rejects.toMatchObject({ kind: 'NotFound' });
  const output = join(rootDir, 'no', 'such', 'folder');
  await expect(exportRecord('node', { rootDir, output }, write)).rejects.toThrow(/^cannot write /u);
});
