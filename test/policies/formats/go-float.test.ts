import { expect, test } from '@jest/globals';
import { goFloat } from '../../../src/policies/formats/go-float.ts';

test.each([
  [0, '0'],
  [-0, '-0'],
  [100.25, '100.25'],
  [999_999, '999999'],
  [999_999.5, '999999.5'],
  [1_000_000, '1e+06'],
  [-20_971_520, '-2.097152e+07'],
  [123_456_789, '1.23456789e+08'],
  [0.0001, '0.0001'],
  [0.00001, '1e-05'],
  [10 / 3, '3.3333333333333335'],
  [1e100, '1e+100'],
  [Infinity, '+Inf'],
  [-Infinity, '-Inf'],
  [NaN, 'NaN'],
])('%d is %s', (value, text) => {
  expect(goFloat(value)).toBe(text);
});
