import { describe, expect, test } from '@jest/globals';
import { takeToken, type TokenBucket } from '../../../../src/agent/policies/formats/token-bucket.ts';

const RATE = { perSecond: 5, burst: 3 };

/** How many times are allowed at `now`. */
function timesAt(now: number, bucket?: TokenBucket): [number, TokenBucket | undefined] {
  let last = bucket;
  for (let times = 0; ; times += 1) {
    const next = takeToken(last, now, RATE);
    if (next === undefined) return [times, last];
    last = next;
  }
}

describe('a bucket of tokens', () => {
  test('allows a burst at first', () => {
    expect(timesAt(0)[0]).toBe(3);
  });

  test('then allows as many as the time that has passed gives', () => {
    const [, empty] = timesAt(0);
    expect(takeToken(empty, 199, RATE)).toBeUndefined();
    expect(takeToken(empty, 200, RATE)).toEqual({ tokens: 0, at: 200 });
    expect(timesAt(400, empty)[0]).toBe(2);
  });

  test('never allows more than the burst at once, however long nothing was done', () => {
    const [, empty] = timesAt(0);
    expect(timesAt(3_600_000, empty)[0]).toBe(3);
  });

  test('does not change when the clock goes back', () => {
    expect(takeToken({ tokens: 2, at: 1000 }, 500, RATE)).toEqual({ tokens: 1, at: 500 });
  });
});
