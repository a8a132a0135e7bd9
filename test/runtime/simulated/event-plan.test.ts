import { describe, expect, test } from '@jest/globals';
import type { EventFaults } from '../../../src/runtime/simulated/call-faults.ts';
import { planEvent } from '../../../src/runtime/simulated/event-plan.ts';

const VALUES = Array.from({ length: 500 }, (_, index) => index / 500);
const plansOf = (faults?: EventFaults, latency?: readonly [number, number]) =>
  VALUES.map((value) => planEvent(faults, latency, value));

/** Whether all delays are in the range, and not all the same. */
function expectBetween(delays: readonly (number | undefined)[], [min, max]: readonly [number, number]): void {
  expect(Math.min(...delays.map((delay) => delay ?? NaN))).toBeGreaterThanOrEqual(min);
  expect(Math.max(...delays.map((delay) => delay ?? NaN))).toBeLessThanOrEqual(max);
  expect(new Set(delays).size).toBeGreaterThan(1);
}

describe('an event', () => {
  test('without faults and latency is sent at once, in order, one time', () => {
    for (const plan of plansOf()) {
      expect(plan).toEqual({ delayMs: 0, inOrder: true, againAfterMs: undefined });
    }
  });

  test('has a latency, and keeps its order', () => {
    const plans = plansOf(undefined, [5, 10]);
    expectBetween(
      plans.map(({ delayMs }) => delayMs),
      [5, 10],
    );
    expect(plans.every(({ inOrder }) => inOrder)).toBe(true);
  });

  test('that is lost is never sent; a doubled one comes later all the same', () => {
    for (const { delayMs, againAfterMs } of plansOf({ lost: 1 })) {
      expect([delayMs, againAfterMs]).toEqual([undefined, undefined]);
    }
    const plans = plansOf({ lost: 1, doubled: 1 });
    expect(plans.every(({ delayMs }) => delayMs === undefined)).toBe(true);
    expectBetween(
      plans.map(({ againAfterMs }) => againAfterMs),
      [0, 2000],
    );
  });

  test('that is late comes 1 to 30 s after its time, out of order', () => {
    const plans = plansOf({ late: 1 }, [5, 5]);
    expectBetween(
      plans.map(({ delayMs }) => delayMs),
      [1005, 30_005],
    );
    expect(plans.some(({ inOrder }) => inOrder)).toBe(false);
  });

  test('that is overtaken comes up to half a second after its time, out of order', () => {
    const plans = plansOf({ reordered: 1 }, [5, 5]);
    expectBetween(
      plans.map(({ delayMs }) => delayMs),
      [6, 505],
    );
    expect(plans.some(({ inOrder }) => inOrder)).toBe(false);
  });
});
