import { describe, expect, test } from '@jest/globals';
import { canonicalJson, equalJson } from '../../../../src/agent/policies/formats/canonical-json.ts';

const VALUES = [
  undefined,
  null,
  true,
  false,
  0,
  1,
  '',
  '0',
  'a',
  [],
  ['a'],
  ['a', 'b'],
  ['b', 'a'],
  {},
  { a: 1 },
  { a: '1' },
  { a: undefined },
  { a: undefined, b: 1 },
  { b: 1 },
  { b: 1, a: 2 },
  { a: 2, b: 1 },
  { a: { b: [1, { c: null }] } },
  { a: { b: [1, { c: null, d: undefined }] } },
  { a: { b: [1, {}] } },
  { 0: 'a' },
  { a: null },
];

describe('canonicalJson', () => {
  test('sorts keys at every depth, and keeps the order of lists', () => {
    expect(canonicalJson({ b: [{ d: 1, c: 2 }, 'x'], a: null })).toBe('{"a":null,"b":[{"c":2,"d":1},"x"]}');
  });

  test('leaves out members that are undefined', () => {
    expect(canonicalJson({ a: undefined, b: { c: undefined } })).toBe('{"b":{}}');
  });
});

describe('equalJson', () => {
  test.each(VALUES.map((value) => [canonicalJson(value), value]))(
    'says of %s and every other value whether their canonical JSON is equal',
    (_text, one) => {
      for (const other of VALUES) {
        const isEqual = canonicalJson(one) === canonicalJson(structuredClone(other));
        expect([other, equalJson(one, structuredClone(other))]).toEqual([other, isEqual]);
      }
    },
  );
});
