import { describe, expect, test } from '@jest/globals';
import { ReviewCache } from '../../../../src/agent/server/node/review-cache.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { testContext } from '../../../support/test-context.ts';

function cacheOf(ttlMs: (answer: boolean) => number = () => 1000) {
  const clock = new VirtualClock();
  const cache = new ReviewCache<boolean>(testContext({ clock }), ttlMs);
  let asked = 0;
  const get = (key: string, answer: boolean | Error = true) =>
    cache.get(key, () => {
      asked += 1;
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    });
  return { clock, cache, get, asked: () => asked };
}

describe('an answer', () => {
  test('is kept for its time, a denial for a shorter time than a permission', async () => {
    const { clock, get, asked } = cacheOf((answer) => (answer ? 300 : 30));
    expect([await get('yes', true), await get('no', false)]).toEqual([true, false]);
    await clock.advance(29);
    await get('yes');
    await get('no');
    expect(asked()).toBe(2);
    await clock.advance(1);
    expect([await get('yes', false), await get('no', true)]).toEqual([true, true]);
    expect(asked()).toBe(3);
  });

  test('that is under way is not requested again', async () => {
    const { get, asked } = cacheOf();
    expect(await Promise.all([get('a'), get('a'), get('b')])).toEqual([true, true, true]);
    expect(asked()).toBe(2);
  });

  test('that failed is requested again', async () => {
    const { get } = cacheOf();
    await expect(get('a', new Error('no answer'))).rejects.toThrow('no answer');
    expect(await get('a', false)).toBe(false);
  });
});

describe('the cache', () => {
  test('keeps 4,096 answers, and forgets the oldest', async () => {
    const { get, asked } = cacheOf();
    for (let index = 0; index <= 4096; index += 1) await get(String(index));
    await get('4096');
    await get('1');
    expect(asked()).toBe(4097);
    await get('0');
    expect(asked()).toBe(4098);
  });

  test('sends at most 256 requests at once', async () => {
    const { cache } = cacheOf();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiting = Array.from({ length: 256 }, (_, index) => cache.get(String(index), () => promise));
    await expect(cache.get('one more', () => promise)).rejects.toThrow('too many requests wait');
    resolve(true);
    await Promise.all(waiting);
    expect(await cache.get('one more', () => promise)).toBe(true);
  });
});
