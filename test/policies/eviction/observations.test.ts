import { expect, test } from '@jest/globals';
import { observe } from '../../../src/policies/eviction/observations.ts';
import { quantityString } from '../../../src/policies/formats/quantity.ts';
import type { NodeStats } from '../../../src/types/stats.ts';

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
