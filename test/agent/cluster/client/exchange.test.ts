import { describe, expect, test } from '@jest/globals';
import { TokenQueue } from '../../../../src/agent/cluster/client/exchange.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';

const never = new AbortController().signal;

describe('a limit of two a second, three in a burst', () => {
  function open() {
    const clock = new VirtualClock();
    const bucket = new TokenQueue(clock, { perSecond: 2, burst: 3 });
    const begun = clock.now();
    const taken: [who: string, afterMs: number][] = [];
    const take = (who: string, signal = never) =>
      bucket.take(signal).then(
        () => void taken.push([who, clock.now() - begun]),
        () => undefined,
      );
    return { clock, taken, take };
  }

  test('lets the burst through at once, and the others one after the other in their order', async () => {
    const { clock, taken, take } = open();
    for (const who of ['a', 'b', 'c', 'd', 'e']) void take(who);
    await clock.advance(10_000);
    expect(taken).toEqual([
      ['a', 0],
      ['b', 0],
      ['c', 0],
      ['d', 500],
      ['e', 1000],
    ]);
  });

  test('after a pause there is a burst again, and never a larger one', async () => {
    const { clock, taken, take } = open();
    for (const who of ['a', 'b', 'c']) void take(who);
    await clock.advance(1000);
    for (const who of ['d', 'e', 'f']) void take(who);
    await clock.advance(60_000);
    for (const who of ['g', 'h', 'i', 'j']) void take(who);
    await clock.advance(60_000);
    expect(taken.slice(3)).toEqual([
      ['d', 1000],
      ['e', 1000],
      ['f', 1500],
      ['g', 61_000],
      ['h', 61_000],
      ['i', 61_000],
      ['j', 61_500],
    ]);
  });

  test('a request that is aborted while it waits gives its token back', async () => {
    const { clock, taken, take } = open();
    const stop = new AbortController();
    for (const who of ['a', 'b', 'c']) void take(who);
    void take('d', stop.signal);
    await clock.advance(100);
    stop.abort();
    await clock.advance(0);
    void take('e');
    await clock.advance(10_000);
    expect(taken.at(-1)).toEqual(['e', 500]);
  });
});

test('a clock that is set back neither removes nor adds tokens', async () => {
  let now = 3_600_000;
  const clock = new VirtualClock();
  const bucket = new TokenQueue(
    {
      now: () => now,
      setTimeout: (callback, delayMs) => clock.setTimeout(callback, delayMs),
      clearTimeout: (handle) => clock.clearTimeout(handle),
    },
    { perSecond: 1, burst: 1 },
  );
  await bucket.take(never);
  now = 0;
  let isTaken = false;
  const taking = bucket.take(never).then(() => (isTaken = true));
  await clock.advance(999);
  expect(isTaken).toBe(false);
  await clock.advance(1);
  await taking;
  expect(isTaken).toBe(true);
});
