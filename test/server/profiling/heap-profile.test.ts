import { expect, test } from '@jest/globals';
import { type HeapNode, heapSamples, recordHeapProfile } from '../../../src/server/profiling/heap-profile.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { waitFor } from '../../support/wait-for.ts';

const frame = (functionName: string) => ({ functionName, url: 'a.js', lineNumber: 1 });
const node = (id: number, functionName: string, selfSize: number, children: HeapNode[] = []): HeapNode => ({
  id,
  callFrame: frame(functionName),
  selfSize,
  children,
});

test('a sample is a place that holds memory, with how much and how many objects', () => {
  const head = node(1, '(root)', 0, [node(2, 'outer', 0, [node(3, 'inner', 300)]), node(4, 'other', 7)]);
  const samples = [{ nodeId: 3 }, { nodeId: 4 }, { nodeId: 3 }];
  expect(heapSamples({ head, samples })).toEqual([
    { stack: [frame('inner'), frame('outer')], values: [2, 300] },
    { stack: [frame('other')], values: [1, 7] },
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
