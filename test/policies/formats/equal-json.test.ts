import { describe, expect, test } from '@jest/globals';
import { canonicalJson } from '../../../src/policies/formats/canonical-json.ts';
import { equalJson } from '../../../src/policies/formats/equal-json.ts';

const VALUES = [
  ...[undefined, null, true, false, 0, 1, '', '0', 'a', [], ['a'], ['a', 'b'], ['b', 'a'], {}],
  ...[
    { a: 1 },
    { a: '1' },
    { a: undefined },
    { a: undefined, b: 1 },
    { b: 1 },
    { b: 1, a: 2 },
    { a: 2, b: 1 },
  ],
  ...[{ a: { b: [1, { c: null }] } }, { a: { b: [1, { c: null, d: undefined }] } }, { a: { b: [1, {}] } }],
  ...[{ 0: 'a' }, { a: null }],
];

describe('equalJson', () => {
  test.each(VALUES.map((value) => [canonicalJson(value), value]))('of %s and every other', (_text, one) => {
    for (const other of VALUES) {
      const isEqual = canonicalJson(one) === canonicalJson(structuredClone(other));
      expect([other, equalJson(one, structuredClone(other))]).toEqual([other, isEqual]);
    }
  });
});
