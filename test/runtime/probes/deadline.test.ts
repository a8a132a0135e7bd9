import { expect, test } from '@jest/globals';
import { withDeadline } from '../../../src/runtime/probes/deadline.ts';
import { unlessAborted } from '../../../src/system/promises.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';
import { StateletError } from '../../../src/types/errors.ts';

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
  await expect(withDeadline(new VirtualClock(0), 1_000, AbortSignal.abort(), work)).rejects.toThrow();
  expect(begun).toBe(false);
});
