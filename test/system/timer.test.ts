import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/simulation/node/virtual-clock.ts';
import { unlessAborted } from '../../src/system/promises.ts';
import { sleep, Timer, withDeadline } from '../../src/system/timer.ts';
import { type Clock, MAX_TIMER_MS } from '../../src/types/clock.ts';
import { StateletError } from '../../src/types/errors.ts';

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

test('rejects as soon as one of several signals aborts', async () => {
  const { clock, pending } = counted();
  const [stop, wake] = [new AbortController(), new AbortController()];
  const sleeping = sleep(clock, 100, stop.signal, wake.signal);
  wake.abort();
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

const never = (signal: AbortSignal) => unlessAborted(new Promise<never>(() => undefined), signal);

const signal = () => new AbortController().signal;

test('work that takes too long is aborted with DeadlineExceeded', async () => {
  const clock = new VirtualClock(0);
  const outcome = withDeadline(clock, 1_500, signal(), never).catch((error: unknown) => error);
  await clock.advance(1_500);
  expect(await outcome).toMatchObject({ kind: 'DeadlineExceeded', message: 'not done within 1.5 s' });
});

test('work that ends in time leaves no timer', async () => {
  const clock = new VirtualClock(0);
  expect(await withDeadline(clock, 1_000, signal(), () => Promise.resolve('done'))).toBe('done');
  expect(clock.armed).toBe(0);
});

test('work that takes too long is aborted with the error that the caller gives', async () => {
  const clock = new VirtualClock(0);
  const late = () => new StateletError('Unavailable', 'too late');
  const outcome = withDeadline(clock, 1_000, undefined, never, late).catch((error: unknown) => error);
  await clock.advance(1_000);
  expect(await outcome).toMatchObject({ kind: 'Unavailable', message: 'too late' });
});

test('a limit of zero is none', async () => {
  const clock = new VirtualClock(0);
  const work = Promise.withResolvers<string>();
  const outcome = withDeadline(clock, 0, signal(), () => work.promise);
  expect(clock.armed).toBe(0);
  work.resolve('done');
  expect(await outcome).toBe('done');
});

test("the caller's signal aborts the work with its own reason", async () => {
  const clock = new VirtualClock(0);
  const controller = new AbortController();
  const outcome = withDeadline(clock, 1_000, controller.signal, never).catch((error: unknown) => error);
  controller.abort(new StateletError('Canceled', 'stopped'));
  expect(await outcome).toMatchObject({ kind: 'Canceled' });
  expect(clock.armed).toBe(0);
});

test('with a signal that has aborted, the work does not begin', async () => {
  let begun = false;
  const work = () => Promise.resolve((begun = true));
  await expect(withDeadline(new VirtualClock(0), 1_000, AbortSignal.abort(), work)).rejects.toMatchObject({
    kind: 'Canceled',
  });
  expect(begun).toBe(false);
});
