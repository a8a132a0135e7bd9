import { describe, expect, test } from '@jest/globals';
import { resolveNodeSettings } from '../../../../src/agent/config/load-node-settings.ts';

const resolve = (file: Record<string, unknown>, flags: Record<string, unknown> = {}) =>
  resolveNodeSettings({ flags, file, fileName: 'kubelet.yaml' });

describe('what is enforced', () => {
  test('is what pods may use by default, also where pods have no cgroups', () => {
    expect(resolve({}).enforceNodeAllocatable).toEqual(['pods']);
    expect(resolve({ cgroupsPerQOS: false }).cgroupsPerQOS).toBe(false);
  });

  test('is read from a flag before the file', () => {
    const settings = resolve({ enforceNodeAllocatable: ['pods'] }, { enforceNodeAllocatable: ['none'] });
    expect(settings.enforceNodeAllocatable).toEqual(['none']);
    expect(resolve({ enforceNodeAllocatable: [] }).enforceNodeAllocatable).toEqual([]);
  });

  test('includes the groups of daemons, which must be named', () => {
    const enforceNodeAllocatable = ['pods', 'kube-reserved', 'system-reserved-compressible'];
    const groups = { kubeReservedCgroup: '/kube', systemReservedCgroup: 'system.slice' };
    expect(resolve({ enforceNodeAllocatable, ...groups })).toMatchObject(groups);
  });
});

describe('refused, in the words of the kubelet, is', () => {
  test.each<[string, Record<string, unknown>, string]>([
    [
      'an unknown option',
      { enforceNodeAllocatable: ['pod'] },
      'option "pod" specified for enforceNodeAllocatable',
    ],
    ['one that stands twice', { enforceNodeAllocatable: ['pods', 'pods'] }, 'duplicated enforcements "pods"'],
    [
      'a group of daemons of Kubernetes without a name',
      { enforceNodeAllocatable: ['kube-reserved'] },
      'kubeReservedCgroup (--kube-reserved-cgroup) must be specified when "kube-reserved" or "kube-reserved-compressible" included',
    ],
    [
      'a group of other daemons without a name',
      { enforceNodeAllocatable: ['system-reserved-compressible'] },
      'systemReservedCgroup (--system-reserved-cgroup) must be specified',
    ],
    [
      'a group with all of its resources and with CPU alone',
      { enforceNodeAllocatable: ['kube-reserved', 'kube-reserved-compressible'], kubeReservedCgroup: '/k' },
      'cannot be specified together',
    ],
    [
      'none beside another',
      { enforceNodeAllocatable: ['none', 'pods'] },
      'may not contain additional enforcements',
    ],
    [
      'a given list without cgroups of pods',
      { enforceNodeAllocatable: ['pods'], cgroupsPerQOS: false },
      'cgroupsPerQOS (--cgroups-per-qos) must be set to true when "pods" contained',
    ],
  ])('%s', (_, file, message) => {
    expect(() => resolve(file)).toThrow(/^kubelet\.yaml: invalid configuration: /u);
    expect(() => resolve(file)).toThrow(message);
  });
});

const resolveMemory = (file: Record<string, unknown>) =>
  resolveNodeSettings({ flags: {}, file, fileName: 'kubelet.yaml' });

test('the fields about the memory of containers have their effect', () => {
  const file = {
    singleProcessOOMKill: false,
    memorySwap: { swapBehavior: 'LimitedSwap' },
    featureGates: { MemoryQoS: true },
    memoryThrottlingFactor: 0.75,
    memoryReservationPolicy: 'TieredReservation',
  };
  expect(resolveMemory(file)).toMatchObject({
    singleProcessOOMKill: false,
    swapBehavior: 'LimitedSwap',
    memoryQoS: true,
    memoryThrottlingFactor: 0.75,
    memoryReservationPolicy: 'TieredReservation',
  });
});

test.each<[Record<string, unknown>, string]>([
  [
    { memorySwap: { swapBehavior: 'UnlimitedSwap' } },
    'kubelet.yaml: memorySwap.swapBehavior: must be NoSwap or LimitedSwap (got UnlimitedSwap)',
  ],
  [
    { memoryThrottlingFactor: 0 },
    'kubelet.yaml: memoryThrottlingFactor: must be greater than 0, and at most 1 (got 0)',
  ],
  [
    { memoryThrottlingFactor: 1.1 },
    'kubelet.yaml: memoryThrottlingFactor: must be greater than 0, and at most 1 (got 1.1)',
  ],
  [
    { memoryReservationPolicy: 'All' },
    'kubelet.yaml: memoryReservationPolicy: must be one of None, TieredReservation (got All)',
  ],
  [
    { memoryReservationPolicy: 'TieredReservation' },
    'kubelet.yaml: memoryReservationPolicy: TieredReservation needs the feature gate MemoryQoS: set featureGates.MemoryQoS to true',
  ],
])('%j is refused, and the error says what would be right', (file, message) => {
  expect(() => resolveMemory(file)).toThrow(message);
});
