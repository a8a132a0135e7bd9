import { expect, test } from '@jest/globals';
import { eachOf } from '../../../src/system/promises/each-of.ts';

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
