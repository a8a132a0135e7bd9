import { expect, test } from '@jest/globals';
import { isQualifiedName, nodeLabelsProblem, taintsProblem } from '../../../src/policies/node/node-labels.ts';
import type { Taint } from '../../../src/types/kubernetes.ts';
import { testVectors } from '../../support/test-vectors.ts';

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
