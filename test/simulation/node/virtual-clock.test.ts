import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';

/** Longer than Node's longest timer. */
const YEAR_MS = 365 * 24 * 3_600_000;

test('a timer cannot wait longer than a timer of Node', () => {
  expect(() => new VirtualClock().setTimeout(() => undefined, YEAR_MS)).toThrow(RangeError);
});

test('callbacks before the timers of a time may be a year away, and run in their order', async () => {
  const clock = new VirtualClock(0);
  const told: string[] = [];
  clock.beforeTimersAt(YEAR_MS, () => told.push('one'));
  clock.beforeTimersAt(YEAR_MS, () => told.push('two'));
  await clock.advance(YEAR_MS - 1_000);
  clock.setTimeout(() => told.push('earlier timer'), 999);
  clock.setTimeout(() => told.push('timer'), 1_000);
  clock.beforeTimersAt(YEAR_MS, () => told.push('three'));
  await clock.advance(2_000);
  expect(told).toEqual(['earlier timer', 'one', 'two', 'three', 'timer']);
});

test('a callback for a time that has passed runs at once', async () => {
  const clock = new VirtualClock(1_000);
  const told: number[] = [];
  clock.beforeTimersAt(0, () => told.push(clock.now()));
  await clock.advance(1);
  expect(told).toEqual([1_000]);
});
