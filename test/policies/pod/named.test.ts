import { expect, test } from '@jest/globals';
import { named } from '../../../src/policies/pod/named.ts';

test.each([3, 1_000])('of %i items, the first of a name is found, or none', (count) => {
  const items = Array.from({ length: count }, (_, index) => ({ name: `c${index % (count - 1)}`, index }));
  expect(named(items, 'c0')?.index).toBe(0);
  expect(named(items, `c${count - 2}`)?.index).toBe(count - 2);
  expect(named(items, 'other')).toBeUndefined();
  expect(named(items, '__proto__')).toBeUndefined();
});
