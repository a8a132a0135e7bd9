import { expect, test } from '@jest/globals';
import { inTurns } from '../../../src/actors/pods/in-turns.ts';
import { VirtualClock } from '../../../src/simulation/node/virtual-clock.ts';

test('inTurns handles 25 items in each turn, in their order', async () => {
  const clock = new VirtualClock();
  const handled: number[] = [];
  const items = Array.from({ length: 60 }, (_, index) => index);
  inTurns(clock, items, (item) => handled.push(item));
  expect(handled).toEqual(items.slice(0, 25));
  await clock.step();
  expect(handled).toEqual(items.slice(0, 50));
  await clock.step();
  expect(handled).toEqual(items);
  expect(clock.armed).toBe(0);
});

test('inTurns handles items that fit into one turn at once', () => {
  const clock = new VirtualClock();
  const handled: string[] = [];
  inTurns(clock, ['a', 'b'], (item) => handled.push(item));
  expect([handled, clock.armed]).toEqual([['a', 'b'], 0]);
});
