import { describe, expect, test } from '@jest/globals';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import {
  judgeNumaNode,
  type NumaVerdict,
  shortNumaNodes,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/numa-pressure.ts';
import type { NumaNodeMemory } from '../../../../../src/types/eviction-plugin.ts';

const GIB = 2 ** 30;
const MIB = 2 ** 20;

const numaSettings = { ...DEFAULT_BUILT_IN_SETTINGS.numaMemory, timesReclaimed: 2, timesAny: 4 };

/** A node with much page cache: its watermarks count as they are. */
const node = (freeBytes: number, fields: Partial<NumaNodeMemory> = {}): NumaNodeMemory => ({
  id: 0,
  totalBytes: 128 * GIB,
  minBytes: 100 * MIB,
  lowBytes: 200 * MIB,
  inactiveFileBytes: 20 * GIB,
  freeBytes,
  ...fields,
});

/** The verdicts on a node that is found so again and again. */
function verdicts(found: NumaNodeMemory, questions: number, times = 0): readonly NumaVerdict[] {
  const judged: NumaVerdict[] = [];
  for (let i = 0; i < questions; i += 1)
    judged.push(judgeNumaNode(found, judged.at(-1)?.times ?? times, numaSettings));
  return judged;
}

const numaReaches = (found: NumaNodeMemory, questions: number) =>
  verdicts(found, questions).map(({ reach }) => reach);

describe('a NUMA node', () => {
  test('at its low watermark is not short of memory', () => {
    expect(numaReaches(node(200 * MIB), 9).every((reach) => reach === undefined)).toBe(true);
  });

  test('just below it loses reclaimed pods from the third pass on, and any pods from the fourth', () => {
    expect(numaReaches(node(199 * MIB), 4)).toEqual([undefined, undefined, 'reclaimed', 'any']);
  });

  test('far below it counts twice from the third pass on', () => {
    expect(numaReaches(node(149 * MIB), 3)).toEqual([undefined, undefined, 'any']);
  });

  test('below the min watermark loses reclaimed pods at once, and any pods in the next pass', () => {
    expect(verdicts(node(99 * MIB), 2)).toEqual([
      {
        id: 0,
        totalBytes: 128 * GIB,
        freeBytes: 99 * MIB,
        targetBytes: 100 * MIB,
        times: 3,
        reach: 'reclaimed',
      },
      { id: 0, totalBytes: 128 * GIB, freeBytes: 99 * MIB, targetBytes: 100 * MIB, times: 4, reach: 'any' },
    ]);
  });

  test('at its min watermark is not below it', () => {
    expect(verdicts(node(100 * MIB), 1)).toMatchObject([{ targetBytes: 200 * MIB, times: 1 }]);
  });

  test('that recovers lowers its count slowly, but not above the pressure for reclaimed pods', () => {
    expect(verdicts(node(GIB), 3, 9).map(({ times }) => times)).toEqual([2, 1, 0]);
    expect(verdicts(node(GIB), 1, 0)).toMatchObject([{ times: 0, reach: undefined }]);
  });

  test('with little page cache is short of memory much earlier', () => {
    const poor = { inactiveFileBytes: GIB };
    expect(judgeNumaNode(node(3 * GIB - 1, poor), 2, numaSettings)).toMatchObject({
      targetBytes: 4 * GIB,
      reach: 'any',
    });
    expect(judgeNumaNode(node(4 * GIB, poor), 2, numaSettings).reach).toBeUndefined();
    expect(judgeNumaNode(node(GIB, poor), 0, numaSettings)).toMatchObject({ reach: 'reclaimed' });
    expect(judgeNumaNode(node(GIB), 0, numaSettings).reach).toBeUndefined();
  });

  test('that is small is compared with its own size', () => {
    const small = { totalBytes: 8 * GIB, minBytes: 10 * MIB, lowBytes: 20 * MIB, inactiveFileBytes: 0 };
    expect(judgeNumaNode(node(GIB, small), 9, numaSettings).reach).toBeUndefined();
    expect(judgeNumaNode(node(255 * MIB, small), 9, numaSettings)).toMatchObject({
      targetBytes: 256 * MIB,
      reach: 'any',
    });
  });
});

test('the node that lacks most comes first; nodes that lack nothing are left out', () => {
  const verdict = (id: number, freeBytes: number, reach?: NumaVerdict['reach']): NumaVerdict => ({
    id,
    totalBytes: 128 * GIB,
    freeBytes,
    targetBytes: 100,
    times: 3,
    reach,
  });
  const short = shortNumaNodes([verdict(0, 90, 'reclaimed'), verdict(1, 10), verdict(2, 50, 'any')]);
  expect(short.map(({ id }) => id)).toEqual([2, 0]);
});
