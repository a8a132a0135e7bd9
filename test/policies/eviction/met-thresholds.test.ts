import { describe, expect, test } from '@jest/globals';
import {
  byEvictionPriority,
  mergeThresholds,
  thresholdsFirstObserved,
  thresholdsMet,
  thresholdsMetGracePeriod,
  thresholdsUpdatedStats,
} from '../../../src/policies/eviction/met-thresholds.ts';
import { observe } from '../../../src/policies/eviction/observations.ts';
import { type Left, summaryOf, thresholds } from '../../support/eviction.ts';

const SOFT = thresholds({
  evictionSoft: { 'memory.available': '100Mi' },
  evictionSoftGracePeriod: { 'memory.available': '30s' },
  evictionMinimumReclaim: { 'memory.available': '50Mi' },
});
const observed = (left: Left) => observe(summaryOf(left));
const isMet = (memory: number, minReclaim: boolean) =>
  thresholdsMet(SOFT, observed({ memory }), { minReclaim }).length > 0;

describe('a threshold is met', () => {
  test('below its value, not at it', () => {
    expect([99, 100, 101].map((memory) => isMet(memory, false))).toEqual([true, false, false]);
  });

  test('until the minimum reclaim is available too, if that is required', () => {
    expect([149, 150].map((memory) => isMet(memory, true))).toEqual([true, false]);
  });

  test('never while its signal is not observed', () => {
    expect(thresholdsMet(SOFT, observed({ pids: 0 }), { minReclaim: true })).toEqual([]);
  });
});

test('a threshold that was not met in between starts its grace period again', () => {
  const first = thresholdsFirstObserved(SOFT, [], 1000);
  expect(thresholdsFirstObserved(SOFT, first, 9000)).toEqual(first);
  const recovered = thresholdsFirstObserved([], first, 9000);
  expect(thresholdsFirstObserved(SOFT, recovered, 10_000)).toEqual([{ threshold: SOFT[0], sinceMs: 10_000 }]);
});

test('the grace period is over when exactly its time has passed', () => {
  const first = thresholdsFirstObserved(SOFT, [], 1000);
  expect(thresholdsMetGracePeriod(first, 30_999)).toEqual([]);
  expect(thresholdsMetGracePeriod(first, 31_000)).toEqual(SOFT);
});

test('figures with the time of the last figures are ignored; figures without a time are used', () => {
  const at = (nowMs: number) => observed({ memory: 1, nowMs });
  const updated = (now: number, last: number) => thresholdsUpdatedStats(SOFT, at(now), at(last));
  expect([updated(5000, 5000), updated(4000, 5000), updated(6000, 5000)]).toEqual([[], [], SOFT]);
  const timeless = observe({
    node: { nodeName: 'node1', memory: { availableBytes: 1, workingSetBytes: 1 } },
    pods: [],
  });
  expect(thresholdsUpdatedStats(SOFT, timeless, at(5000))).toEqual(SOFT);
  expect(thresholdsUpdatedStats(SOFT, at(5000), timeless)).toEqual(SOFT);
});

test('thresholds that differ only in their minimum reclaim are merged', () => {
  const other = thresholds({
    evictionSoft: { 'memory.available': '0.1Gi' },
    evictionSoftGracePeriod: { 'memory.available': '30s' },
  });
  const same = SOFT.map(({ signal, value, gracePeriodMs }) => ({ signal, value, gracePeriodMs }));
  expect(mergeThresholds(SOFT, same)).toEqual(SOFT);
  expect(mergeThresholds(SOFT, other)).toEqual([...SOFT, ...other]);
});

test('memory thresholds come before all others', () => {
  const all = thresholds({
    evictionHard: { 'nodefs.available': '10%', 'memory.available': '1Gi', 'pid.available': '5%' },
    enforceNodeAllocatable: ['pods'],
  });
  expect(byEvictionPriority(all).map(({ signal }) => signal)).toEqual([
    ...['allocatableMemory.available', 'memory.available'],
    ...['nodefs.available', 'pid.available'],
  ]);
});
