import { describe, expect, test } from '@jest/globals';
import {
  byEvictionPriority,
  mergeThresholds,
  observe,
  thresholdsFirstObserved,
  thresholdsMet,
  thresholdsMetGracePeriod,
  thresholdsUpdatedStats,
} from '../../../../src/agent/policies/eviction/observations.ts';
import { quantityString } from '../../../../src/agent/policies/formats/quantity.ts';
import type { NodeStats } from '../../../../src/types/stats.ts';
import { type Left, summaryOf, thresholds } from '../../../support/eviction.ts';

function observed(node: Omit<NodeStats, 'nodeName'>): Record<string, string> {
  const all = observe({ node: { nodeName: 'node1', ...node }, pods: [] });
  return Object.fromEntries(
    Array.from(all, ([signal, { available, capacity }]) => [
      signal,
      `${quantityString(available)} of ${quantityString(capacity)}`,
    ]),
  );
}

test('the capacity of memory is its available part plus its working set; the memory of all pods is a signal of its own', () => {
  const memory = { availableBytes: 2 ** 30, workingSetBytes: 2 ** 30 };
  const pods = { name: 'pods', memory: { availableBytes: 2 ** 20, workingSetBytes: 2 ** 20 } };
  expect(observed({ memory, systemContainers: [{ name: 'kubelet', memory }, pods] })).toEqual({
    'memory.available': '1Gi of 2Gi',
    'allocatableMemory.available': '1Mi of 2Mi',
  });
});

test('space and inodes of file systems are separate signals', () => {
  const fs = { availableBytes: 1024, capacityBytes: 4096 };
  const inodes = { inodesFree: 1000, inodes: 4000 };
  expect(observed({ fs: { ...fs, ...inodes }, runtime: { imageFs: fs, containerFs: inodes } })).toEqual({
    'nodefs.available': '1Ki of 4Ki',
    'nodefs.inodesFree': '1k of 4k',
    'imagefs.available': '1Ki of 4Ki',
    'containerfs.inodesFree': '1k of 4k',
  });
});

test('there may be more processes than process IDs', () => {
  expect(observed({ rlimit: { maxpid: 100, curproc: 150 } })).toEqual({ 'pid.available': '-50 of 100' });
});

test('a signal with incomplete figures is not observed', () => {
  const half = { memory: { availableBytes: 1 }, fs: { capacityBytes: 1, inodes: 1 }, rlimit: { maxpid: 1 } };
  expect(observed(half)).toEqual({});
});

test('the time is kept to the millisecond; an invalid time is left out', () => {
  const times = ['2030-01-01T00:00:00.25Z', 'yesterday', undefined].map((time) => {
    const rlimit = { maxpid: 1, curproc: 1, ...(time && { time }) };
    return observe({ node: { nodeName: 'node1', rlimit }, pods: [] }).get('pid.available')?.timeMs;
  });
  expect(times).toEqual([1_893_456_000_250, undefined, undefined]);
});

const SOFT = thresholds({
  evictionSoft: { 'memory.available': '100Mi' },
  evictionSoftGracePeriod: { 'memory.available': '30s' },
  evictionMinimumReclaim: { 'memory.available': '50Mi' },
});

const observedWith = (left: Left) => observe(summaryOf(left));

const isMet = (memory: number, minReclaim: boolean) =>
  thresholdsMet(SOFT, observedWith({ memory }), { minReclaim }).length > 0;

describe('a threshold is met', () => {
  test('below its value, not at it', () => {
    expect([99, 100, 101].map((memory) => isMet(memory, false))).toEqual([true, false, false]);
  });

  test('until the minimum reclaim is available too, if that is required', () => {
    expect([149, 150].map((memory) => isMet(memory, true))).toEqual([true, false]);
  });

  test('never while its signal is not observed', () => {
    expect(thresholdsMet(SOFT, observedWith({ pids: 0 }), { minReclaim: true })).toEqual([]);
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
  const at = (nowMs: number) => observedWith({ memory: 1, nowMs });
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
