import { expect, test } from '@jest/globals';
import { OwnCalls } from '../../../../src/runtime/cri/calls/own-calls.ts';

const later = () => Promise.withResolvers<string>();

test('nextCreated resolves with each creating call that returns, also one that fails', async () => {
  const calls = new OwnCalls();
  expect(calls.nextCreated()).toBeUndefined();
  const [first, second] = [later(), later()];
  const created = calls.creating(first.promise);
  const refused = calls.creating(second.promise).catch((error: unknown) => error);
  const next = calls.nextCreated();
  first.resolve('id');
  await next;
  expect(await created).toBe('id');
  const last = calls.nextCreated();
  second.reject(new Error('no'));
  await last;
  expect(await refused).toMatchObject({ message: 'no' });
  expect(calls.nextCreated()).toBeUndefined();
});

test('whenEnded resolves with the last of several ending calls for an id', async () => {
  const calls = new OwnCalls();
  const [stop, remove] = [later(), later()];
  const both = [calls.ending('a', stop.promise), calls.ending('a', remove.promise)];
  let ended = false;
  const end = calls.whenEnded('a')?.then(() => (ended = true));
  stop.resolve('');
  await both[0];
  expect(ended).toBe(false);
  remove.resolve('');
  await both[1];
  await end;
  expect(ended).toBe(true);
  expect(calls.whenEnded('a')).toBeUndefined();
});

test('whenEnded knows nothing of other ids', () => {
  const calls = new OwnCalls();
  void calls.ending('a', later().promise);
  expect([calls.whenEnded('b'), calls.whenEnded(undefined)]).toEqual([undefined, undefined]);
});
