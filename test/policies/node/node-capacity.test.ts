import { describe, expect, test } from '@jest/globals';
import { extendedResourceProblem, nodeCapacity } from '../../../src/policies/node/node-capacity.ts';

const MACHINE = {
  cpus: 4,
  memoryBytes: 24_684_096 * 1024,
  ephemeralStorageBytes: 100 * 2 ** 30,
  hugePages: new Map([
    [2 ** 21, 16],
    [2 ** 30, 0],
  ]),
};
const SETTINGS = { maxPods: 110, podsPerCore: 0, extendedResources: {} };

describe('capacity', () => {
  test('is written as by the kubelet', () => {
    expect(nodeCapacity(MACHINE, SETTINGS)).toEqual({
      cpu: '4',
      memory: '24684096Ki',
      'ephemeral-storage': '100Gi',
      pods: '110',
      'hugepages-2Mi': '32Mi',
      'hugepages-1Gi': '0',
    });
    expect(nodeCapacity(MACHINE, { ...SETTINGS, maxPods: 2000 })).toMatchObject({ pods: '2k' });
  });

  test('has podsPerCore pods for each CPU, up to maxPods', () => {
    expect(nodeCapacity(MACHINE, { ...SETTINGS, podsPerCore: 10 })).toMatchObject({ pods: '40' });
    expect(nodeCapacity(MACHINE, { ...SETTINGS, podsPerCore: 30 })).toMatchObject({ pods: '110' });
  });

  test('has the extended resources of the settings', () => {
    const extendedResources = { 'example.com/gpu': '2' };
    expect(nodeCapacity(MACHINE, { ...SETTINGS, extendedResources })).toMatchObject(extendedResources);
  });
});

test.each([
  [{ 'example.com/gpu': '2', 'example.com/fpga': '0' }, undefined],
  [{ 'example.com/dongle': '3k' }, undefined],
  [{ gpu: '1' }, /"gpu" is none/],
  [{ 'kubernetes.io/gpu': '1' }, /not of kubernetes\.io, .* "kubernetes\.io\/gpu" is none/],
  [{ 'node.kubernetes.io/gpu': '1' }, /is none/],
  [{ 'requests.example.com/gpu': '1' }, /is none/],
  [{ 'example.com/-gpu': '1' }, /is none/],
  [{ 'example.com/a/b': '1' }, /is none/],
  [{ [`${'a'.repeat(250)}.b/gpu`]: '1' }, /is none/],
  [{ 'example.com/gpu': '1500m' }, 'whole amounts: that of "example.com/gpu" is 1500m'],
  [{ 'example.com/gpu': '-1' }, 'whole amounts: that of "example.com/gpu" is -1'],
  [{ 'example.com/gpu': 'two' }, 'whole amounts: that of "example.com/gpu" is two'],
])('extended resources %j: %s', (resources: Readonly<Record<string, string>>, problem) => {
  const expected: unknown = problem === undefined ? undefined : expect.stringMatching(problem);
  expect(extendedResourceProblem(resources)).toEqual(expected);
});
