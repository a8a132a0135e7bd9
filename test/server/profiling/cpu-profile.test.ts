import { expect, test } from '@jest/globals';
import { cpuSamples } from '../../../src/server/profiling/cpu-profile.ts';

const node = (id: number, functionName: string, children: number[] = []) => ({
  id,
  callFrame: { functionName, scriptId: '1', url: 'a.js', lineNumber: id, columnNumber: 0 },
  children,
});
const frame = (functionName: string, lineNumber: number) => ({ functionName, url: 'a.js', lineNumber });

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
    { stack: [frame('inner', 3), frame('outer', 2)], values: [2, 30_000] },
    { stack: [frame('outer', 2)], values: [1, 5_000] },
  ]);
});

test('a profile without samples is empty', () => {
  expect(cpuSamples({ nodes: [node(1, '(root)')], startTime: 0, endTime: 0 })).toEqual([]);
});
