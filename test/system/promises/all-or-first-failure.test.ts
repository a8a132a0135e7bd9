import { expect, test } from '@jest/globals';
import { allOrFirstFailure } from '../../../src/system/promises/all-or-first-failure.ts';

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
