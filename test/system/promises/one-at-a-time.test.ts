import { expect, test } from '@jest/globals';
import { OneAtATime } from '../../../src/system/promises/one-at-a-time.ts';

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
