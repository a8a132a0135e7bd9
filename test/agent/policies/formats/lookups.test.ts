import { expect, test } from '@jest/globals';
import { named, RecentMap } from '../../../../src/agent/policies/formats/lookups.ts';

test.each([3, 1_000])('of %i items, the first of a name is found, or none', (count) => {
  const items = Array.from({ length: count }, (_, index) => ({ name: `c${index % (count - 1)}`, index }));
  expect(named(items, 'c0')?.index).toBe(0);
  expect(named(items, `c${count - 2}`)?.index).toBe(count - 2);
  expect(named(items, 'other')).toBeUndefined();
  expect(named(items, '__proto__')).toBeUndefined();
});

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
