import { describe, expect, test } from '@jest/globals';
import { keyedRandom, seededRandom } from '../../../src/simulation/plan/seeded-random.ts';

const draw = (count: number, next: () => number) => Array.from({ length: count }, next);

describe('seededRandom', () => {
  test('equal seeds give equal numbers, different seeds different ones', () => {
    const [one, two, other] = [7, 7, 8].map((seed) => {
      const random = seededRandom(seed);
      return draw(10, () => random.next());
    });
    expect(two).toEqual(one);
    expect(other).not.toEqual(one);
  });

  test('numbers lie in [0, 1), and in all tenths of it', () => {
    const random = seededRandom(1);
    const numbers = draw(1_000, () => random.next());
    expect(numbers.filter((number) => number < 0 || number >= 1)).toEqual([]);
    expect(new Set(numbers.map((number) => Math.floor(number * 10))).size).toBe(10);
  });

  test('whole numbers include both ends', () => {
    const random = seededRandom(1);
    expect(new Set(draw(200, () => random.integer(3, 6)))).toEqual(new Set([3, 4, 5, 6]));
  });

  test('a fork continues with the same numbers, and does not change the original', () => {
    const random = seededRandom(1);
    random.next();
    const fork = random.fork();
    const expected = draw(5, () => fork.next());
    expect(draw(5, () => random.next())).toEqual(expected);
  });

  test('nothing can be picked from an empty list', () => {
    expect(() => seededRandom(1).pick([])).toThrow(RangeError);
  });
});

describe('keyedRandom', () => {
  test('a number follows from the seed and the key, no matter what else is drawn', () => {
    const [one, two, other] = [keyedRandom(1), keyedRandom(1), keyedRandom(2)];
    two('another key');
    expect(two('key')).toBe(one('key'));
    expect(one('key')).not.toBe(one('key2'));
    expect(one('key')).not.toBe(other('key'));
  });
});
