import { expect, test } from '@jest/globals';
import { createActor, fromTransition } from 'xstate';
import { awaitChange } from '../../src/run-once/await-change.ts';
import type { Clock } from '../../src/types/clock.ts';

/** A clock whose only timer fires when the test says so. */
function heldClock() {
  const armed = new Map<number, { readonly fire: () => void; readonly delayMs: number }>();
  let last = 0;
  const clock: Clock = {
    now: () => 1_000,
    setTimeout: (fire, delayMs) => {
      last += 1;
      armed.set(last, { fire, delayMs });
      return last;
    },
    clearTimeout: (handle) => void armed.delete(handle as number),
  };
  return { clock, armed };
}

function counter() {
  const count = fromTransition((value: number, event: { type: 'add' | 'break' }) => {
    if (event.type === 'break') throw new Error('broken');
    return value + 1;
  }, 0);
  const actor = createActor(count);
  actor.subscribe({ error: () => undefined });
  return actor.start();
}

test('resolves when the actor changes, and leaves no timer and no listener behind', async () => {
  const { clock, armed } = heldClock();
  const actor = counter();
  const { signal } = new AbortController();
  const change = awaitChange(actor, { clock, signal, atMs: 6_000 });
  expect([...armed.values()].map(({ delayMs }) => delayMs)).toEqual([5_000]);
  actor.send({ type: 'add' });
  await change;
  expect(armed.size).toBe(0);
});

test('resolves when the time has come', async () => {
  const { clock, armed } = heldClock();
  const { signal } = new AbortController();
  const change = awaitChange(counter(), { clock, signal, atMs: 6_000 });
  for (const { fire } of armed.values()) fire();
  await change;
});

test('resolves when the signal aborts, though the actor has failed and there is no time limit', async () => {
  const { clock, armed } = heldClock();
  const actor = counter();
  const stop = new AbortController();
  actor.send({ type: 'break' });
  let isOver = false;
  const change = awaitChange(actor, { clock, signal: stop.signal, atMs: undefined }).then(() => {
    isOver = true;
  });
  await new Promise(setImmediate);
  expect(isOver).toBe(false);
  stop.abort();
  await change;
  expect(armed.size).toBe(0);
});
