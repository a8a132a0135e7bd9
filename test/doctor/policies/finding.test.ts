import { expect, test } from '@jest/globals';
import { memberAt, parsedObject, textAt } from '../../../src/doctor/policies/finding.ts';

test('only an object is taken from a text', () => {
  expect(parsedObject('{"a":1}')).toEqual({ a: 1 });
  for (const text of ['', '{', '5', 'null', '[{}]']) expect(typeof parsedObject(text)).toBe('string');
});

test('a member at the end of a path, and nothing that every object has', () => {
  expect(memberAt({ a: { b: 5 } }, 'a', 'b')).toBe(5);
  for (const value of [{}, { a: null }, { a: [1] }, 'a', undefined])
    expect(memberAt(value, 'a', 'b')).toBeUndefined();
  expect(memberAt({}, 'constructor', 'name')).toBeUndefined();
  expect([textAt({ a: 'x' }, 'a'), textAt({ a: '' }, 'a'), textAt({ a: 5 }, 'a')]).toEqual([
    'x',
    undefined,
    undefined,
  ]);
});
