import { describe, expect, test } from '@jest/globals';
import { matchesNodeAffinity } from '../../../../src/agent/policies/admission/node-affinity.ts';
import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../../../src/types/kubernetes.ts';
import { requestingPod } from '../../../support/admission.ts';

const NODE = { name: 'node1', labels: new Map(Object.entries({ zone: 'a', gen: '5', word: 'five' })) };

const selects = (nodeSelector: Record<string, string>) =>
  matchesNodeAffinity(requestingPod('p', { nodeSelector }), NODE);
const affine = (...nodeSelectorTerms: NodeSelectorTerm[]) => {
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } };
  return matchesNodeAffinity(requestingPod('p', { affinity: { nodeAffinity } }), NODE);
};
const requires = (key: string, operator: string, ...values: string[]) =>
  affine({ matchExpressions: [{ key, operator, values }] });
const field = (requirement: Partial<NodeSelectorRequirement>) =>
  affine({ matchFields: [{ key: 'metadata.name', operator: 'In', ...requirement }] });

test('a pod without selector and affinity may run on every node', () => {
  expect(matchesNodeAffinity(requestingPod('p'), NODE)).toBe(true);
});

test('the node must have every label of the node selector, with the same value', () => {
  expect(selects({ zone: 'a' })).toBe(true);
  expect(selects({ zone: 'a', gen: '5' })).toBe(true);
  expect(selects({ zone: 'a', gen: '6' })).toBe(false);
  expect(selects({ missing: '' })).toBe(false);
  expect(selects({ constructor: 'x' })).toBe(false);
});

test.each([
  ['In', ['a', 'b'], true],
  ['In', ['b'], false],
  ['In', [], false],
  ['NotIn', ['b'], true],
  ['NotIn', ['a'], false],
  ['NotIn', [], false],
  ['Exists', [], true],
  ['Exists', ['a'], false],
  ['DoesNotExist', [], false],
  ['Near', ['a'], false],
])('on a label that the node has: %s %j is %p', (operator, values, holds) => {
  expect(requires('zone', operator, ...values)).toBe(holds);
});

test.each([
  ['In', ['a'], false],
  ['NotIn', ['a'], true],
  ['Exists', [], false],
  ['DoesNotExist', [], true],
  ['DoesNotExist', ['a'], false],
  ['Gt', ['1'], false],
  ['Lt', ['1'], false],
])('on a label that the node does not have: %s %j is %p', (operator, values, holds) => {
  expect(requires('missing', operator, ...values)).toBe(holds);
});

test.each([
  ['Gt', ['4'], true],
  ['Gt', ['5'], false],
  ['Gt', ['-7'], true],
  ['Lt', ['6'], true],
  ['Lt', ['5'], false],
  ['Lt', ['10'], true],
  ['Gt', ['four'], false],
  ['Gt', ['4', '4'], false],
  ['Lt', [], false],
])('numbers are compared as numbers: 5 %s %j is %p', (operator, values, holds) => {
  expect(requires('gen', operator, ...values)).toBe(holds);
});

test('a label that is no whole number is neither greater nor less', () => {
  expect([requires('word', 'Gt', '1'), requires('word', 'Lt', '9')]).toEqual([false, false]);
});

describe('terms', () => {
  const holds = { matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] };
  const fails = { matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] };

  test('at least one of them has to hold', () => {
    expect([affine(fails, holds), affine(fails, fails)]).toEqual([true, false]);
  });

  test('every requirement of that one has to hold', () => {
    expect(affine({ matchExpressions: [...holds.matchExpressions, ...fails.matchExpressions] })).toBe(false);
  });

  test('no terms, or an empty term, select no node', () => {
    expect([affine(), affine({}), affine({}, holds)]).toEqual([false, false, true]);
  });

  test('the node selector has to hold as well', () => {
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [holds] } };
    const both = requestingPod('p', { nodeSelector: { zone: 'b' }, affinity: { nodeAffinity } });
    expect(matchesNodeAffinity(both, NODE)).toBe(false);
  });

  test('preferred terms do not count', () => {
    const preference = { preference: fails, weight: 1 };
    const nodeAffinity = { preferredDuringSchedulingIgnoredDuringExecution: [preference] };
    expect(matchesNodeAffinity(requestingPod('p', { affinity: { nodeAffinity } }), NODE)).toBe(true);
  });
});

test('the field metadata.name can be selected, by one value', () => {
  expect(field({ values: ['node1'] })).toBe(true);
  expect(field({ values: ['node2'] })).toBe(false);
  expect(field({ values: ['node1', 'node2'] })).toBe(false);
  expect(field({ operator: 'NotIn', values: ['node2'] })).toBe(true);
  expect(field({ operator: 'Exists', values: ['node1'] })).toBe(false);
  expect(field({ key: 'metadata.uid', values: ['node1'] })).toBe(false);
});
