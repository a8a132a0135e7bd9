import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/simulation/node/virtual-clock.ts';
import { Timer } from '../../src/system/timer.ts';
import { MAX_TIMER_MS } from '../../src/types/clock.ts';

function armed(...delaysMs: number[]) {
  const clock = new VirtualClock();
  const timer = new Timer(clock);
  const calls: number[] = [];
  const begunAt = clock.now();
  for (const delayMs of delaysMs) timer.arm(delayMs, () => calls.push(clock.now() - begunAt));
  return { clock, timer, calls };
}

test('calls once, after the delay', async () => {
  const { clock, timer, calls } = armed(100);
  expect(timer.isArmed).toBe(true);
  await clock.advance(1000);
  expect(calls).toEqual([100]);
  expect(timer.isArmed).toBe(false);
});

test('armed again, drops the call that was pending', async () => {
  const { clock, calls } = armed(100, 300);
  await clock.advance(1000);
  expect(calls).toEqual([300]);
});

test('disarmed, does not call', async () => {
  const { clock, timer, calls } = armed(100);
  timer.disarm();
  timer.disarm();
  await clock.advance(1000);
  expect(calls).toEqual([]);
});

test('may be armed again by its own call', async () => {
  const { clock, timer, calls } = armed();
  timer.arm(100, () => timer.arm(100, () => calls.push(clock.now())));
  await clock.advance(1000);
  expect(calls).toHaveLength(1);
});

test('waits at most as long as a Node timer can', async () => {
  const { clock, calls } = armed(Infinity);
  await clock.advance(MAX_TIMER_MS);
  expect(calls).toEqual([MAX_TIMER_MS]);
});
