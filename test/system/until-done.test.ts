import { expect, test } from '@jest/globals';
import { VirtualClock } from '../../src/simulation/node/virtual-clock.ts';
import { untilDone } from '../../src/system/until-done.ts';

test('work is tried again after pauses that double up to the longest, until it is done', async () => {
  const clock = new VirtualClock(0);
  const tries: number[] = [];
  const problems: string[] = [];
  const done = untilDone(
    clock,
    () => {
      tries.push(clock.now());
      return tries.length < 5 ? Promise.reject(new Error(`no ${tries.length}`)) : Promise.resolve();
    },
    {
      firstMs: 1_000,
      mostMs: 3_000,
      signal: new AbortController().signal,
      onFailure: (problem) => problems.push(problem),
    },
  );
  await clock.advance(60_000);
  await done;
  expect(tries).toEqual([0, 1_000, 3_000, 6_000, 9_000]);
  expect(problems).toEqual(['no 1', 'no 2', 'no 3', 'no 4']);
});

test('it can be aborted in a pause and in a try, and that is no failure', async () => {
  const clock = new VirtualClock(0);
  for (const when of ['try', 'pause']) {
    const life = new AbortController();
    const problems: string[] = [];
    const end = () => life.abort(new Error('the agent stops'));
    const done = untilDone(
      clock,
      () => {
        if (when === 'try') end();
        return Promise.reject(new Error('no'));
      },
      { firstMs: 1_000, mostMs: 1_000, signal: life.signal, onFailure: (problem) => problems.push(problem) },
    );
    const given = expect(done).rejects.toThrow();
    await clock.advance(500);
    if (when === 'pause') end();
    await given;
    expect(problems).toEqual(when === 'try' ? [] : ['no']);
    expect(clock.armed).toBe(0);
  }
});
