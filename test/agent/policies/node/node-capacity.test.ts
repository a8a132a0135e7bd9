import { describe, expect, test } from '@jest/globals';
import {
  extendedResourceProblem,
  isQualifiedName,
  nodeCapacity,
  nodeLabelsProblem,
  taintsProblem,
} from '../../../../src/agent/policies/node/node-capacity.ts';
import type { Taint } from '../../../../src/types/kubernetes.ts';
import { testVectors } from '../../../support/test-vectors.ts';

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

testVectors('nodeLabels');

test.each(['disk', 'example.com/disk', 'A_b.c-9', `${'a'.repeat(253)}/b`, 'a'.repeat(63)])(
  '"%s" is a qualified name',
  (text) => {
    expect(isQualifiedName(text)).toBe(true);
  },
);

test.each(['', '/', 'a/', '/a', '-a', 'a-', 'a b', 'a/b/c', 'Example.com/a', 'a..b/c', 'a'.repeat(64)])(
  '"%s" is none',
  (text) => {
    expect(isQualifiedName(text)).toBe(false);
  },
);

test.each([
  'disk',
  'example.com/disk',
  'kubernetes.io.example.com/disk',
  'topology.kubernetes.io/zone',
  'kubernetes.io/hostname',
  'node.kubernetes.io/anything',
  'own.kubelet.kubernetes.io/anything',
])('a node may have the label %s', (key) => {
  expect(nodeLabelsProblem({ [key]: 'ssd' })).toBeUndefined();
});

test.each([
  'kubernetes.io/role',
  'k8s.io/role',
  'node-role.kubernetes.io/worker',
  'topology.kubernetes.io/rack',
  'apps.k8s.io/x',
])('a node may not have the label %s by its settings', (key) => {
  expect(nodeLabelsProblem({ disk: 'ssd', [key]: '' })).toMatch(
    new RegExp(`^labels outside kubernetes\\.io and k8s\\.io, under .*: ${key} is none of these$`),
  );
});

test.each([
  [{ 'my disk': 'ssd' }, /"my disk" is no name of a label/],
  [{ disk: 'a b' }, /"a b" is no value/],
  [{ disk: 'a'.repeat(64) }, /at most 63/],
  [{ disk: '' }, undefined],
])('labels %j: %s', (labels: Readonly<Record<string, string>>, problem) => {
  const expected: unknown = problem === undefined ? undefined : expect.stringMatching(problem);
  expect(nodeLabelsProblem(labels)).toEqual(expected);
});

test.each<[Taint, RegExp | undefined]>([
  [{ key: 'maint', value: 'x', effect: 'NoExecute' }, undefined],
  [{ key: 'example.com/maint', effect: 'PreferNoSchedule' }, undefined],
  [{ key: '', effect: 'NoSchedule' }, /"" is no key of a taint/],
  [{ key: 'maint', value: 'a b', effect: 'NoSchedule' }, /"a b" is no value/],
  [{ key: 'maint', effect: 'Never' }, /NoSchedule, PreferNoSchedule, NoExecute: "Never" is none/],
  [{ key: 'maint', effect: '' }, /"" is none/],
  [{ key: 'maint', effect: 'NoSchedule', timeAdded: '2026-01-01T00:00:00Z' }, /without timeAdded/],
])('the taint %j: %s', (taint, problem) => {
  const expected: unknown = problem === undefined ? undefined : expect.stringMatching(problem);
  expect(taintsProblem([taint])).toEqual(expected);
});
