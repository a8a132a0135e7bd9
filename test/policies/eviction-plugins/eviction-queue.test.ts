import { expect, test } from '@jest/globals';
import { EvictionQueue } from '../../../src/policies/eviction-plugins/eviction-queue.ts';

const pods = (...uids: string[]) => uids.map((uid) => ({ uid }));

test('pods are taken in the order in which they came, as many as the burst allows', () => {
  const queue = new EvictionQueue<{ uid: string }>(2);
  queue.add(pods('a', 'b', 'a', 'c'));
  expect(queue.take()).toEqual(pods('a', 'b'));
  expect(queue.take()).toEqual(pods('c'));
  expect(queue.take()).toEqual([]);
});

test('a new list withdraws what was queued and not taken', () => {
  const queue = new EvictionQueue<{ uid: string }>(-1);
  queue.add(pods('a', 'b', 'c'));
  queue.replace(pods('d', 'b'));
  queue.withdraw(['d', 'unknown']);
  expect(queue.take()).toEqual(pods('b'));
});

test('with a burst of 0 nothing is taken', () => {
  const queue = new EvictionQueue<{ uid: string }>(0);
  queue.add(pods('a'));
  expect(queue.take()).toEqual([]);
  expect(queue.entries).toEqual(pods('a'));
});
