import { expect, test } from '@jest/globals';
import { formValues } from '../../../src/policies/server/form-values.ts';

const decoded = (query: string) => Object.fromEntries(formValues(query));

test('values of one name stay in their order', () => {
  expect(decoded('a=1&b=2&a=3')).toEqual({ a: ['1', '3'], b: ['2'] });
});

test('a plus is a blank, and an escape is a byte of UTF-8', () => {
  expect(decoded('a+b=c%20d+%C3%A9')).toEqual({ 'a b': ['c d é'] });
});

test('a name without a value has the empty one', () => {
  expect(decoded('a&b=&=c&&')).toEqual({ a: [''], b: [''], '': ['c'] });
});

test('a pair with a semicolon or a broken escape is left out, and the others stay', () => {
  expect(decoded('a=1;b=2&c=%zz&d=%4&e=5')).toEqual({ e: ['5'] });
});

test('bytes that are no UTF-8 become replacement characters', () => {
  expect(decoded('a=x%FFy%41%C3%A9')).toEqual({ a: ['x\uFFFDyAé'] });
});
