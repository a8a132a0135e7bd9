import { expect, test } from '@jest/globals';
import { KillWaiters } from '../../../src/actors/pods/kill-waiters.ts';
import { settled } from '../../../src/simulation/node/virtual-clock.ts';

test('6: everyone who waits is answered by their own answer and by no other', async () => {
  const waiters = new KillWaiters();
  const answered: string[] = [];
  const [first, second] = [waiters.add(), waiters.add()];
  void first.answered.then(() => answered.push('first'));
  void second.answered.then(() => answered.push('second'));
  await settled();
  expect(answered).toEqual([]);
  waiters.answer(second.waiter);
  await settled();
  expect(answered).toEqual(['second']);
  waiters.answer(first.waiter);
  await settled();
  expect(answered).toEqual(['second', 'first']);
});

test('6: no two of them are taken for one another, also after answers', () => {
  const waiters = new KillWaiters();
  const first = waiters.add();
  waiters.answer(first.waiter);
  const names = [first, waiters.add(), waiters.add()].map(({ waiter }) => waiter);
  expect(new Set(names).size).toBe(3);
});

test('I7: a second answer is an error', () => {
  const waiters = new KillWaiters();
  const { waiter } = waiters.add();
  waiters.answer(waiter);
  expect(() => waiters.answer(waiter)).toThrow('answered twice');
});

test('I7: so is an answer to nobody', () => {
  expect(() => new KillWaiters().answer('waiter-0')).toThrow('never added');
});
