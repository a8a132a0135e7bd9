import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/simulation/node/virtual-clock.ts';
import { sleep } from '../../src/system/sleep.ts';
import { type Clock, MAX_TIMER_MS } from '../../src/types/clock.ts';

/** A virtual clock that counts its pending timers. */
function counted() {
  const inner = new VirtualClock();
  const pending = new Set<unknown>();
  const clock: Clock = {
    now: () => inner.now(),
    setTimeout: (callback, delayMs) => {
      const handle = inner.setTimeout(() => {
        pending.delete(handle);
        callback();
      }, delayMs);
      pending.add(handle);
      return handle;
    },
    clearTimeout: (handle) => {
      pending.delete(handle);
      inner.clearTimeout(handle);
    },
  };
  return { inner, clock, pending };
}

test('resolves after the delay', async () => {
  const { inner, clock } = counted();
  const beganAt = clock.now();
  const wakes = sleep(clock, 100, new AbortController().signal).then(() => clock.now() - beganAt);
  await inner.advance(1_000);
  expect(await wakes).toBe(100);
});

test('rejects as soon as the signal aborts, and leaves no timer behind', async () => {
  const { clock, pending } = counted();
  const stop = new AbortController();
  const sleeping = sleep(clock, 100, stop.signal);
  expect(pending.size).toBe(1);
  stop.abort();
  await expect(sleeping).rejects.toMatchObject({ kind: 'Canceled' });
  expect(pending.size).toBe(0);
});

test('rejects at once with a signal that has aborted', async () => {
  const { clock, pending } = counted();
  await expect(sleep(clock, 100, AbortSignal.abort(new Error('too late')))).rejects.toThrow('too late');
  expect(pending.size).toBe(0);
});

test('waits as long as a timer can, where the delay is longer', async () => {
  const { inner, clock, pending } = counted();
  const stop = new AbortController();
  const sleeping = sleep(clock, 10 * MAX_TIMER_MS, stop.signal);
  expect(inner.nextInMs).toBe(MAX_TIMER_MS);
  stop.abort();
  await expect(sleeping).rejects.toMatchObject({ kind: 'Canceled' });
  expect(pending.size).toBe(0);
});
