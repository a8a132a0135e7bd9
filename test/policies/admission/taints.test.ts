import { expect, test } from '@jest/globals';
import { toleratesTaint } from '../../../src/policies/admission/taints.ts';
import type { Toleration } from '../../../src/types/kubernetes.ts';

const TAINT = { key: 'maint', value: 'x', effect: 'NoExecute' };

test.each<[string, Toleration, boolean]>([
  ['the same', { key: 'maint', operator: 'Equal', value: 'x', effect: 'NoExecute' }, true],
  ['no operator: equal', { key: 'maint', value: 'x' }, true],
  ['an empty operator too', { key: 'maint', operator: '', value: 'x' }, true],
  ['another value', { key: 'maint', value: 'y' }, false],
  ['no value', { key: 'maint' }, false],
  ['another key', { key: 'other', operator: 'Exists' }, false],
  ['another effect', { key: 'maint', operator: 'Exists', effect: 'NoSchedule' }, false],
  ['it exists: any value', { key: 'maint', operator: 'Exists', value: 'y' }, true],
  ['no key: all of them', { operator: 'Exists' }, true],
  ['no key, but a value', { value: 'x' }, true],
  ['an operator that is not known', { key: 'maint', operator: 'Lt', value: 'x' }, false],
])('%s', (_, toleration, tolerated) => {
  expect(toleratesTaint([toleration], TAINT)).toBe(tolerated);
});

test('one of several tolerations is enough; without tolerations no taint is tolerated', () => {
  expect(toleratesTaint([{ key: 'other' }, { operator: 'Exists' }], TAINT)).toBe(true);
  expect(toleratesTaint([], TAINT)).toBe(false);
  expect(toleratesTaint(undefined, TAINT)).toBe(false);
});
