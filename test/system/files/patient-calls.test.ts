import { expect, test } from '@jest/globals';
import { PatientCalls } from '../../../src/system/files/patient-calls.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';

const DEADLINE_MS = 1_000;

function bed() {
  const clock = new VirtualClock();
  return { clock, calls: new PatientCalls(clock, DEADLINE_MS) };
}

test('a call has its outcome, and leaves no timer behind', async () => {
  const { clock, calls } = bed();
  expect(await calls.call('/a', () => Promise.resolve(7))).toBe(7);
  await expect(calls.call('/a', () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect(clock.armed).toBe(0);
});

test('a call that hangs is abandoned at the deadline; its path is tried again when the call has ended', async () => {
  const { clock, calls } = bed();
  const hung = Promise.withResolvers<number>();
  const [given] = await Promise.allSettled([
    calls.call('/a', () => hung.promise),
    clock.advance(DEADLINE_MS),
  ]);
  expect(given).toMatchObject({
    reason: { kind: 'DeadlineExceeded', message: 'its file system does not answer' },
  });
  const tried: string[] = [];
  const again = () => calls.call('/a', () => Promise.resolve(tried.push('again')));
  await expect(again()).rejects.toThrow('its file system does not answer');
  expect(tried).toEqual([]);
  hung.reject(new Error('the server is away'));
  await hung.promise.catch(() => undefined);
  await new Promise(setImmediate);
  expect(await again()).toBe(1);
});

test('a call may have a deadline of its own, as at the start, when a busy disk is no reason to give up', async () => {
  const { clock, calls } = bed();
  const slow = Promise.withResolvers<number>();
  const given = calls.call('/a', () => slow.promise, 10 * DEADLINE_MS);
  await clock.advance(9 * DEADLINE_MS);
  slow.resolve(7);
  expect(await given).toBe(7);
  const hung = calls.call('/b', () => new Promise(() => undefined), 10 * DEADLINE_MS);
  const [outcome] = await Promise.allSettled([hung, clock.advance(10 * DEADLINE_MS)]);
  expect(outcome).toMatchObject({ reason: { kind: 'DeadlineExceeded' } });
});

test('while two paths hang, no other is tried, so that threads are left for other files', async () => {
  const { clock, calls } = bed();
  const hung = Promise.withResolvers<number>();
  const both = ['/a', '/b'].map((path) => calls.call(path, () => hung.promise));
  await Promise.allSettled([...both, clock.advance(DEADLINE_MS)]);
  const other = () => calls.call('/c', () => Promise.resolve(1));
  await expect(other()).rejects.toThrow('no other file is read while /a and /b do not answer');
  hung.resolve(0);
  await new Promise(setImmediate);
  expect(await other()).toBe(1);
});

test('of calls that begin at the same time, two are under way; the others are refused when both hang', async () => {
  const { clock, calls } = bed();
  const hung = Promise.withResolvers<number>();
  const begun: string[] = [];
  const all = ['/a', '/b', '/c', '/d'].map((path) =>
    calls.call(path, () => {
      begun.push(path);
      return hung.promise;
    }),
  );
  const outcomes = Promise.allSettled(all);
  await clock.advance(DEADLINE_MS);
  expect((await outcomes).map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'rejected'));
  expect(begun).toEqual(['/a', '/b']);
  hung.resolve(0);
});
