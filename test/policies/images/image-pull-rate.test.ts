import { describe, expect, test } from '@jest/globals';
import { takePullToken, type TokenBucket } from '../../../src/policies/images/image-pull-rate.ts';

const RATE = { qps: 5, burst: 3 };

/** How many pulls are allowed at `now`. */
function pullsAt(now: number, bucket?: TokenBucket): [number, TokenBucket | undefined] {
  let last = bucket;
  for (let pulls = 0; ; pulls += 1) {
    const next = takePullToken(last, now, RATE);
    if (next === undefined) return [pulls, last];
    last = next;
  }
}

describe('the rate of image pulls', () => {
  test('allows a burst at first', () => {
    expect(pullsAt(0)[0]).toBe(3);
  });

  test('then allows as many as the time that has passed gives', () => {
    const [, empty] = pullsAt(0);
    expect(takePullToken(empty, 199, RATE)).toBeUndefined();
    expect(takePullToken(empty, 200, RATE)).toEqual({ tokens: 0, at: 200 });
    expect(pullsAt(400, empty)[0]).toBe(2);
  });

  test('never allows more than the burst at once, however long nothing was pulled', () => {
    const [, empty] = pullsAt(0);
    expect(pullsAt(3_600_000, empty)[0]).toBe(3);
  });

  test('does not change when the clock goes back', () => {
    expect(takePullToken({ tokens: 2, at: 1000 }, 500, RATE)).toEqual({ tokens: 1, at: 500 });
  });

  test('has no limit where qps is 0', () => {
    const unlimited = { qps: 0, burst: 1 };
    const first = takePullToken(undefined, 0, unlimited);
    expect(takePullToken(first, 0, unlimited)).toBeDefined();
  });
});
