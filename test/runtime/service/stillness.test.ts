import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { onceStill, type Watched } from '../../../src/runtime/service/stillness.ts';
import { socketPair } from '../../support/socket-pair.ts';

const STILL_MS = 20;

/** What had happened by the call. */
async function watched<T>(watch: Omit<Watched, 'stillMs'>, seen: () => T): Promise<T> {
  return new Promise((resolve) => {
    onceStill({ stillMs: STILL_MS, ...watch }, () => resolve(seen()));
  });
}

test('calls once nothing has happened for so long', async () => {
  let left = 10;
  const progress = () => (left > 0 ? (left -= 1) : 0);
  expect(await watched({ progress }, () => left)).toBe(0);
});

test('does not call while this side makes the other one wait', async () => {
  let asked = 0;
  const isHeld = () => (asked += 1) < 5;
  expect(await watched({ isHeld }, () => asked)).toBe(5);
});

test('without progress to look at, calls after the time', async () => {
  expect(await watched({}, () => 'called')).toBe('called');
});

test('sees what has come while this process itself was held', async () => {
  const [near, far] = await socketPair();
  far.resume();
  near.write('first');
  await once(far, 'data');
  const call = watched({ progress: () => far.bytesRead }, () => far.bytesRead);
  near.write('second');
  // Timers that are due come next, before anything is read.
  await new Promise(setImmediate);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 * STILL_MS);
  expect(await call).toBe('firstsecond'.length);
  near.destroy();
  far.destroy();
});

test('does not call when the watch has ended', async () => {
  let calls = 0;
  const stop = onceStill({ stillMs: STILL_MS }, () => void (calls += 1));
  stop();
  await watched({}, () => undefined);
  await pause(STILL_MS);
  expect(calls).toBe(0);
});
