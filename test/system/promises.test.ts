import { describe, expect, test } from '@jest/globals';
import {
  allOrFirstFailure,
  eachOf,
  OneAtATime,
  unlessAborted,
  whenAborted,
} from '../../src/system/promises.ts';

test('the work is done for every item, for no more than the limit at a time', async () => {
  let underWay = 0;
  let most = 0;
  const done: number[] = [];
  await eachOf([1, 2, 3, 4, 5], 2, async (item) => {
    most = Math.max(most, ++underWay);
    await Promise.resolve();
    underWay--;
    done.push(item);
  });
  expect([done.toSorted(), most]).toEqual([[1, 2, 3, 4, 5], 2]);
});

test('after a failure no other work begins, and it rejects once none is under way', async () => {
  const begun: number[] = [];
  const slow = Promise.withResolvers<undefined>();
  let settled = false;
  const all = eachOf([1, 2, 3, 4], 2, async (item) => {
    begun.push(item);
    if (item === 1) throw new Error('broken');
    await slow.promise;
  }).finally(() => (settled = true));
  const outcome = expect(all).rejects.toThrow('broken');
  await new Promise(setImmediate);
  expect([begun, settled]).toEqual([[1, 2], false]);
  slow.resolve(undefined);
  await outcome;
  expect(begun).toEqual([1, 2]);
});

test('without items nothing is done', async () => {
  await expect(eachOf([], 3, () => Promise.reject(new Error('no')))).resolves.toBeUndefined();
});

test('resolves when all promises have resolved', async () => {
  await expect(allOrFirstFailure([])).resolves.toBeUndefined();
  await expect(allOrFirstFailure([Promise.resolve(1), Promise.resolve(2)])).resolves.toBeUndefined();
});

test('rejects with the failure only when the other promises have settled', async () => {
  const failure = new Error('failed');
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let hasRejected = false;
  const all = allOrFirstFailure([Promise.reject(failure), promise]).catch((error: unknown) => {
    hasRejected = true;
    return error;
  });
  await new Promise(setImmediate);
  expect(hasRejected).toBe(false);
  resolve(undefined);
  expect(await all).toBe(failure);
});

test('several failures become one error with all messages; the first is its cause', async () => {
  const failures = ['one', 'two'].map((message) => new Error(message));
  const all = allOrFirstFailure(failures.map((failure) => Promise.reject(failure)));
  await expect(all).rejects.toMatchObject({ kind: 'Internal', message: 'one; two', cause: failures[0] });
});

test('work begins when what was asked for before has ended, also with an error, and has its own outcome', async () => {
  const turns = new OneAtATime();
  const told: string[] = [];
  const first = Promise.withResolvers<string>();
  const outcomes = Promise.allSettled([
    turns.run(() => first.promise.finally(() => told.push('first ends'))),
    turns.run(async () => {
      told.push('second begins');
      await Promise.reject(new Error('in vain'));
    }),
    turns.run(() => Promise.resolve(told.push('third begins'))),
  ]);
  first.resolve('1');
  expect(await outcomes).toEqual([
    { status: 'fulfilled', value: '1' },
    { status: 'rejected', reason: new Error('in vain') },
    { status: 'fulfilled', value: 3 },
  ]);
  expect(told).toEqual(['first ends', 'second begins', 'third begins']);
});

test('has the outcome of the work', async () => {
  const { signal } = new AbortController();
  await expect(unlessAborted(Promise.resolve('done'), signal)).resolves.toBe('done');
  await expect(unlessAborted(Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed');
});

test('rejects with the reason of the signal while the work goes on', async () => {
  const stop = new AbortController();
  const { promise, resolve } = Promise.withResolvers<string>();
  const waiting = unlessAborted(promise, stop.signal);
  stop.abort(new Error('stopping'));
  await expect(waiting).rejects.toThrow('stopping');
  resolve('done all the same');
  await expect(promise).resolves.toBe('done all the same');
});

test('work that fails when no caller waits any more is no unhandled rejection', async () => {
  const unhandled: unknown[] = [];
  const hear = (reason: unknown) => unhandled.push(reason);
  process.on('unhandledRejection', hear);
  try {
    const { promise, reject } = Promise.withResolvers<string>();
    await expect(unlessAborted(promise, AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    reject(new Error('too late'));
    // Node tells of it before the next turn of the event loop.
    await new Promise(setImmediate);
    expect(unhandled).toEqual([]);
  } finally {
    process.off('unhandledRejection', hear);
  }
});

describe('told once one of several signals aborts', () => {
  const two = () => {
    const [first, second] = [new AbortController(), new AbortController()];
    const told: string[] = [];
    const forget = whenAborted([first.signal, second.signal], ({ message }) => told.push(message));
    return { first, second, told, forget };
  };

  test('with the reason of the first that does, and only once', () => {
    const { first, second, told } = two();
    second.abort(new Error('second'));
    first.abort(new Error('first'));
    expect(told).toEqual(['second']);
  });

  test('at once where one has aborted', () => {
    const told: string[] = [];
    whenAborted([new AbortController().signal, AbortSignal.abort(new Error('before'))], ({ message }) =>
      told.push(message),
    );
    expect(told).toEqual(['before']);
  });

  test('not after it was forgotten', () => {
    const { first, told, forget } = two();
    forget();
    first.abort(new Error('first'));
    expect(told).toEqual([]);
  });
});
