import { expect, test } from '@jest/globals';
import {
  allocationFromPod,
  changesGuaranteed,
  isAllocated,
  podAsAllocated,
} from '../../../../src/agent/policies/resize/allocation.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('podResize');

const podOf = (cpu: string): Pod => ({
  metadata: { name: 'pod', namespace: 'default', uid: 'uid' },
  spec: {
    containers: [
      { name: 'constructor', resources: { requests: { cpu } } },
      { name: 'other', resources: { requests: { cpu: '1' } } },
    ],
  },
});

test('a pod is seen with what it was granted, and nothing else of it changes', () => {
  const granted = allocationFromPod(podOf('100m'));
  const desired = podOf('2');
  expect(podAsAllocated(desired, granted)).toEqual(podOf('100m'));
  expect(podAsAllocated(desired, granted).spec.containers[1]).toEqual(desired.spec.containers[1]);
});

test('the same amount in another spelling is what was granted, and the pod stays the same object', () => {
  const desired = podOf('0.1');
  expect(isAllocated(desired, allocationFromPod(podOf('100m')))).toBe(true);
  expect(podAsAllocated(desired, allocationFromPod(podOf('100m')))).toBe(desired);
});

test('where one container is to be resized, the others keep the spelling of their specs', () => {
  const granted = allocationFromPod(podOf('1'));
  const other = { requests: { cpu: '1000m' } };
  const seen = podAsAllocated(podOf('2'), { containers: { ...granted.containers, other } });
  expect(seen.spec.containers.map(({ resources }) => resources?.requests?.cpu)).toEqual(['1', '1']);
});

test('a container that was not there when the pod was granted its resources keeps its own', () => {
  const { spec, ...pod } = podOf('1');
  const more = { ...pod, spec: { ...spec, containers: [...spec.containers, { name: 'new' }] } };
  expect(isAllocated(more, allocationFromPod(podOf('1')))).toBe(true);
});

test('only a Guaranteed pod that is to have another amount changes what it has for itself', () => {
  const guaranteed = (cpu: string, memory: string): Pod => {
    const amounts = { cpu, memory };
    return {
      metadata: { name: 'pod', namespace: 'default', uid: 'uid' },
      spec: { containers: [{ name: 'main', resources: { requests: amounts, limits: amounts } }] },
    };
  };
  const before = guaranteed('1', '1Gi');
  const changes = (after: Pod, from = before) =>
    (['cpu', 'memory'] as const).filter((resource) => changesGuaranteed(after, from, resource));
  expect(changes(guaranteed('2', '1024Mi'))).toEqual(['cpu']);
  expect(changes(guaranteed('1000m', '2Gi'))).toEqual(['memory']);
  expect(changes(before)).toEqual([]);
  expect(changes(podOf('2'), podOf('1'))).toEqual([]);
});
