import { expect, test } from '@jest/globals';
import { RecentMap } from '../../../src/policies/events/recent-map.ts';

test('a full map drops the entry that was least recently read or written', () => {
  const map = new RecentMap<string, number>(2);
  map.set('a', 1);
  map.set('b', 2);
  expect(map.get('a')).toBe(1);
  map.set('c', 3);
  expect([map.get('a'), map.get('b'), map.get('c')]).toEqual([1, undefined, 3]);
  map.set('a', 10);
  map.set('d', 4);
  expect([map.get('a'), map.get('c'), map.get('d')]).toEqual([10, undefined, 4]);
});
