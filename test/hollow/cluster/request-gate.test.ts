import { expect, test } from '@jest/globals';
import { RequestGate } from '../../../src/hollow/cluster/request-gate.ts';

test('sixty-four requests go at a time; of those that wait, heartbeats come first and events last', async () => {
  const gate = new RequestGate();
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const hold = () => new Promise<void>((resolve) => ends.push(resolve));
  const first = Array.from({ length: 64 }, () => gate.pass('main', hold));
  const later = (['event', 'main', 'heartbeat'] as const).map((rank) =>
    gate.pass(rank, () => Promise.resolve(order.push(rank))),
  );
  await Promise.resolve();
  expect([ends.length, order]).toEqual([64, []]);
  ends[0]?.();
  await Promise.all(later);
  expect(order).toEqual(['heartbeat', 'main', 'event']);
  for (const end of ends) end();
  await Promise.all(first);
});

test('heartbeats that never end do not hold up all others', async () => {
  const gate = new RequestGate();
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const first = Array.from({ length: 64 }, () =>
    gate.pass('main', () => new Promise<void>((resolve) => ends.push(resolve))),
  );
  const later = ['heartbeat', 'heartbeat', 'heartbeat', 'heartbeat', 'main'] as const;
  const passed = later.map((rank) => gate.pass(rank, () => Promise.resolve(order.push(rank))));
  ends[0]?.();
  await Promise.all(passed);
  expect(order).toEqual(['heartbeat', 'heartbeat', 'heartbeat', 'main', 'heartbeat']);
  for (const end of ends) end();
  await Promise.all(first);
});

test('a request that fails gives its place up', async () => {
  const gate = new RequestGate();
  const failed = Array.from({ length: 64 }, () => gate.pass('main', () => Promise.reject(new Error('no'))));
  await Promise.allSettled(failed);
  expect(await gate.pass('event', () => Promise.resolve('sent'))).toBe('sent');
});
