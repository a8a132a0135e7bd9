import { expect, test } from '@jest/globals';
import {
  thresholdAmount,
  thresholdTextProblem,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/threshold-text.ts';

test.each<[string, number | undefined, number | undefined]>([
  ['10Gi', undefined, 10 * 2 ** 30],
  ['2000', 5, 2000],
  ['10%', 200, 20],
  ['0.5%', 200, 1],
  ['10%', undefined, undefined],
  ['', 200, undefined],
])('%s of %p is %p', (text, whole, amount) => {
  expect(thresholdAmount(text, whole)).toBe(amount);
  expect(thresholdTextProblem(text)).toBeUndefined();
});

test.each(['0', '0%', '-1Gi', '101%', '%', 'ten', '10 %'])('%s is none', (text) => {
  expect(thresholdTextProblem(text)).toMatch(/^a quantity such as 10Gi/);
});
