import { describe, expect, test } from '@jest/globals';
import {
  enforcedAllocatable,
  nodeAllocatable,
  reservationProblem,
  reservedGroups,
  reservesPIDs,
} from '../../../../src/agent/policies/node/node-allocatable.ts';

const CAPACITY = { cpu: '4', memory: '16Gi', 'ephemeral-storage': '100Gi', pods: '110' };
const NOTHING = { systemReserved: {}, kubeReserved: {}, evictionHard: {} };
type Fields = Partial<typeof NOTHING>;

const allocatable = (fields: Fields, capacity: Readonly<Record<string, string>> = CAPACITY) =>
  nodeAllocatable(capacity, { ...NOTHING, ...fields });

describe('allocatable resources', () => {
  test('are the capacity in its own spelling if nothing is reserved', () => {
    expect(allocatable({}, { ...CAPACITY, cpu: '+4' })).toEqual({ ...CAPACITY, cpu: '+4' });
  });

  test('are less by the reservations for the system and for the agent', () => {
    const systemReserved = { cpu: '200m', memory: '500Mi' };
    const kubeReserved = { cpu: '1', memory: '1Gi', 'ephemeral-storage': '10Gi', pid: '1000' };
    expect(allocatable({ systemReserved, kubeReserved })).toEqual({
      cpu: '2800m',
      memory: '14860Mi',
      'ephemeral-storage': '90Gi',
      pods: '110',
    });
  });

  test('are less by the hard thresholds of memory and of the file system, and by no others', () => {
    const evictionHard = {
      'memory.available': '100Mi',
      'nodefs.available': '25%',
      'imagefs.available': '15%',
    };
    expect(allocatable({ evictionHard })).toEqual({
      ...CAPACITY,
      memory: '16284Mi',
      'ephemeral-storage': '75Gi',
    });
  });

  test('are in bytes if a percentage leaves no whole kibibytes', () => {
    const evictionHard = { 'nodefs.available': '10%' };
    const kubeReserved = { 'ephemeral-storage': '1Gi' };
    const capacity = { 'ephemeral-storage': '20959212Ki' };
    expect(allocatable({ kubeReserved, evictionHard }, capacity)).toEqual({
      'ephemeral-storage': '18242267924',
    });
  });

  test('of memory are less by the huge pages, and never below zero', () => {
    const hugePages = { 'hugepages-2Mi': '512Mi', 'hugepages-1Gi': '2Gi' };
    expect(allocatable({}, { ...CAPACITY, ...hugePages })).toEqual({
      ...CAPACITY,
      ...hugePages,
      memory: '13824Mi',
    });
    const all = { memory: '1Gi', 'hugepages-1Gi': '1Gi' };
    expect(allocatable({ kubeReserved: { memory: '1Mi' } }, all)).toEqual({ ...all, memory: '0' });
  });

  test('may be zero', () => {
    expect(allocatable({ kubeReserved: { cpu: '4' } })).toMatchObject({ cpu: '0' });
  });

  test('may have the names of properties that every object has', () => {
    const capacity = { ...CAPACITY, 'example.com/constructor': '2' };
    expect(allocatable({ kubeReserved: { cpu: '1' } }, capacity)).toMatchObject({
      'example.com/constructor': '2',
    });
  });
});

test('more is reserved than the node has: an error that lists every such resource', () => {
  const fields = {
    systemReserved: { cpu: '3', memory: '16Gi' },
    kubeReserved: { cpu: '1500m' },
    evictionHard: { 'memory.available': '100Mi' },
  };
  expect(() => allocatable(fields)).toThrow(
    expect.objectContaining({
      kind: 'InvalidArgument',
      message: expect.stringMatching(
        /^invalid Node Allocatable configuration\. Resource "cpu" has a reservation of 4500m but capacity of 4\. Expected capacity >= reservation\. Resource "memory" has a reservation of 16484Mi but capacity of 16Gi\. Expected capacity >= reservation\. .*--system-reserved.*--kube-reserved.*--eviction-hard/,
      ),
    }),
  );
});

describe('the limit on all pods together', () => {
  const evictionHard = { 'memory.available': '100Mi' };
  const reservations = { systemReserved: {}, kubeReserved: { memory: '1Gi', pid: '1k' }, evictionHard };

  test('includes what eviction keeps free, but not what is reserved', () => {
    expect(enforcedAllocatable({ ...CAPACITY, pid: '32768' }, reservations)).toEqual({
      ...CAPACITY,
      memory: '15Gi',
      pid: '31768',
    });
  });

  test('cannot be below zero processes', () => {
    expect(() => enforcedAllocatable({ pid: '999' }, reservations)).toThrow('Resource "pid"');
  });

  test('has processes only if some are reserved', () => {
    expect(reservesPIDs(reservations)).toBe(true);
    expect(reservesPIDs({ systemReserved: { pid: '0' }, kubeReserved: { cpu: '1' } })).toBe(false);
  });
});

test.each([
  [{ cpu: '200m', memory: '500Mi', 'ephemeral-storage': '1Gi', pid: '1000' }, undefined],
  [{}, undefined],
  [{ 'example.com/gpu': '1' }, 'cannot reserve "example.com/gpu" resource'],
  [{ 'hugepages-2Mi': '2Mi' }, 'cannot reserve "hugepages-2Mi" resource'],
  [{ cpu: 'many' }, 'failed to parse quantity "many" for "cpu" resource'],
  [{ memory: '' }, 'failed to parse quantity "" for "memory" resource'],
  [{ memory: '-1Gi' }, 'resource quantity for "memory" cannot be negative: -1Gi'],
])('to reserve %j: %s', (reserved: Readonly<Record<string, string>>, problem) => {
  expect(reservationProblem(reserved)).toBe(problem);
});

const RESERVED = {
  kubeReserved: { cpu: '500m', memory: '1Gi', pid: '100' },
  systemReserved: { cpu: '250m', memory: '2Gi' },
};

const NAMES = { kubeReservedCgroup: '/kube', systemReservedCgroup: '/system' };

const groups = (...enforceNodeAllocatable: string[]) =>
  reservedGroups({ enforceNodeAllocatable, ...NAMES }, RESERVED);

test('a group of daemons has as limits what is reserved for it, where that is enforced', () => {
  expect(groups('pods')).toEqual([]);
  expect(groups('kube-reserved', 'system-reserved')).toEqual([
    {
      title: 'system reserved',
      field: 'systemReservedCgroup',
      name: '/system',
      limits: RESERVED.systemReserved,
    },
    { title: 'kube reserved', field: 'kubeReservedCgroup', name: '/kube', limits: RESERVED.kubeReserved },
  ]);
});

test('what is compressible is the CPU alone', () => {
  expect(groups('kube-reserved-compressible').map(({ limits }) => limits)).toEqual([{ cpu: '500m' }]);
});
