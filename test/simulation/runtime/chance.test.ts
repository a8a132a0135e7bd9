import { describe, expect, test } from '@jest/globals';
import { answerTo, within } from '../../../src/simulation/runtime/chance.ts';

const VALUES = Array.from({ length: 1000 }, (_, index) => index / 1000);

describe('the answer to a question of chance', () => {
  test('is the same for the same value', () => {
    expect(answerTo('fail', 0.25)).toBe(answerTo('fail', 0.25));
  });

  test('is in [0, 1), in each tenth about equally often', () => {
    const tenths = Array.from({ length: 10 }, () => 0);
    for (const value of VALUES) {
      const answer = answerTo('hang', value);
      expect(answer).toBeGreaterThanOrEqual(0);
      expect(answer).toBeLessThan(1);
      tenths[Math.floor(answer * 10)]! += 1;
    }
    for (const count of tenths) {
      expect(count).toBeGreaterThan(60);
      expect(count).toBeLessThan(140);
    }
  });

  test('does not depend on the answer to another question', () => {
    const both = VALUES.filter((value) => answerTo('fail', value) < 0.5 && answerTo('slow', value) < 0.5);
    expect(both.length).toBeGreaterThan(200);
    expect(both.length).toBeLessThan(300);
  });
});

test('a number within a range is whole, and reaches both ends', () => {
  const numbers = VALUES.map((value) => within([3, 7], value));
  expect(new Set(numbers)).toEqual(new Set([3, 4, 5, 6, 7]));
  expect(within([5, 5], 0.999)).toBe(5);
});
