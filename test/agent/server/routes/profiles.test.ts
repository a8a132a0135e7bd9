import { gunzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { Profile } from 'pprof-format';
import {
  cpuSamples,
  type HeapNode,
  heapSamples,
  recordHeapProfile,
  type SampledProfile,
  writeProfile,
} from '../../../../src/agent/server/routes/profiles.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { waitFor } from '../../../support/wait-for.ts';

const frame = (functionName: string, lineNumber: number) => ({
  functionName,
  url: 'file:///a.js',
  lineNumber,
});
const PROFILE: SampledProfile = {
  types: [
    { type: 'samples', unit: 'count' },
    { type: 'cpu', unit: 'nanoseconds' },
  ],
  samples: [
    { stack: [frame('inner', 9), frame('outer', 0)], values: [2, 20_000_000] },
    { stack: [frame('outer', 0)], values: [1, 10_000_000] },
    { stack: [frame('', 4)], values: [1, 5] },
  ],
  startedAt: 1_700_000_000_000,
  durationMs: 2_000,
  period: 10_000_000,
};

test('a profile has each function and each text once', async () => {
  const profile = Profile.decode(gunzipSync(await writeProfile(PROFILE)));
  const texts = profile.stringTable.strings;
  expect(texts[0]).toBe('');
  expect(new Set(texts).size).toBe(texts.length);
  const name = (place: number | bigint) => texts[Number(place)];
  expect(profile.sampleType.map(({ type, unit }) => [name(type), name(unit)])).toEqual([
    ['samples', 'count'],
    ['cpu', 'nanoseconds'],
  ]);
  expect(
    profile.function.map(({ id, name: text, filename, startLine }) => [
      id,
      name(text),
      name(filename),
      startLine,
    ]),
  ).toEqual([
    [1, 'inner', 'file:///a.js', 10],
    [2, 'outer', 'file:///a.js', 1],
    [3, '(anonymous)', 'file:///a.js', 5],
  ]);
  expect(profile.location).toMatchObject([
    { id: 1, line: [{ functionId: 1, line: 10 }] },
    { id: 2, line: [{ functionId: 2, line: 1 }] },
    { id: 3, line: [{ functionId: 3, line: 5 }] },
  ]);
  expect(profile.sample).toMatchObject([
    { locationId: [1, 2], value: [2, 20_000_000] },
    { locationId: [2], value: [1, 10_000_000] },
    { locationId: [3], value: [1, 5] },
  ]);
  expect(profile).toMatchObject({
    timeNanos: 1_700_000_000_000_000_000n,
    durationNanos: 2_000_000_000n,
    periodType: profile.sampleType[1],
    period: 10_000_000,
  });
});

const node = (id: number, functionName: string, children: number[] = []) => ({
  id,
  callFrame: { functionName, scriptId: '1', url: 'a.js', lineNumber: id, columnNumber: 0 },
  children,
});

const cpuFrame = (functionName: string, lineNumber: number) => ({
  functionName,
  url: 'a.js',
  lineNumber,
});

test('samples of one place are added up; the root and idle time are left out', () => {
  const nodes = [node(1, '(root)', [2, 4]), node(2, 'outer', [3]), node(3, 'inner'), node(4, '(idle)')];
  const profile = {
    nodes,
    startTime: 0,
    endTime: 100,
    samples: [3, 4, 3, 2, 1],
    timeDeltas: [10, 50, 20, 5, 5],
  };
  expect(cpuSamples(profile)).toEqual([
    { stack: [cpuFrame('inner', 3), cpuFrame('outer', 2)], values: [2, 30_000] },
    { stack: [cpuFrame('outer', 2)], values: [1, 5_000] },
  ]);
});

test('a profile without samples is empty', () => {
  expect(cpuSamples({ nodes: [node(1, '(root)')], startTime: 0, endTime: 0 })).toEqual([]);
});

const heapFrame = (functionName: string) => ({ functionName, url: 'a.js', lineNumber: 1 });

const heapNode = (
  id: number,
  functionName: string,
  selfSize: number,
  children: HeapNode[] = [],
): HeapNode => ({
  id,
  callFrame: heapFrame(functionName),
  selfSize,
  children,
});

test('a sample is a place that holds memory, with how much and how many objects', () => {
  const head = heapNode(1, '(root)', 0, [
    heapNode(2, 'outer', 0, [heapNode(3, 'inner', 300)]),
    heapNode(4, 'other', 7),
  ]);
  const samples = [{ nodeId: 3 }, { nodeId: 4 }, { nodeId: 3 }];
  expect(heapSamples({ head, samples })).toEqual([
    { stack: [heapFrame('inner'), heapFrame('outer')], values: [2, 300] },
    { stack: [heapFrame('other')], values: [1, 7] },
  ]);
});

test('what is allocated while it records, and held, is in the profile', async () => {
  const clock = new VirtualClock(0);
  const recording = recordHeapProfile(1_000, clock, new AbortController().signal);
  const held: object[] = [];
  const holdMuch = () => {
    for (let count = 0; count < 200_000; count += 1) held.push({ count });
  };
  await waitFor(() => clock.armed === 1, { what: 'the recording to begin' });
  holdMuch();
  await clock.advance(1_000);
  const { samples } = await recording;
  const names = samples.flatMap(({ stack }) => stack.map(({ functionName }) => functionName));
  expect(names).toContain('holdMuch');
  expect(held).toHaveLength(200_000);
});
