import { expect, test } from '@jest/globals';
import { mergePatch } from '../../../src/config/kubelet/json-merge-patch.ts';

test.each<[string, object, object, object]>([
  ['members are added and replaced', { a: 1, b: 2 }, { b: 3, c: 4 }, { a: 1, b: 3, c: 4 }],
  [
    'objects are merged at every depth',
    { a: { b: { c: 1 } } },
    { a: { b: { d: 2 } } },
    { a: { b: { c: 1, d: 2 } } },
  ],
  ['null removes a member', { a: 1, b: { c: 1, d: 2 } }, { a: null, b: { c: null } }, { b: { d: 2 } }],
  ['null for a member that is not there leaves nothing behind', {}, { a: { b: null } }, { a: {} }],
  ['a list takes the place of a list', { a: [1, 2] }, { a: [3] }, { a: [3] }],
  ['an object takes the place of what is none', { a: 'text' }, { a: { b: 1 } }, { a: { b: 1 } }],
  ['what is no object takes the place of one', { a: { b: 1 } }, { a: 'text' }, { a: 'text' }],
])('%s', (_, target, patch, merged) => {
  expect(mergePatch(target, patch)).toEqual(merged);
});

test('a member of any name is data', () => {
  const patch = JSON.parse('{"__proto__": {"polluted": true}}') as object;
  const merged = mergePatch({}, patch);
  expect(Object.keys(merged)).toEqual(['__proto__']);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});
