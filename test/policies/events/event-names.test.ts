import { expect, test } from '@jest/globals';
import { EventNames } from '../../../src/policies/events/event-names.ts';

const never = () => 'never';

test('two events of one millisecond, or of a clock that was set back, have different names', () => {
  const names = new EventNames();
  expect([5, 5, 4].map((ms) => names.next('web', ms, never))).toEqual([
    'web.4c4b40',
    'web.4c4b41',
    'web.4c4b42',
  ]);
  expect(names.next('web', 6, never)).toBe('web.5b8d80');
});

test('a name that is too long is replaced', () => {
  const replaced = new EventNames().next('w'.repeat(253), 1, (nanoseconds) => `other.${String(nanoseconds)}`);
  expect(replaced).toBe('other.1000000');
});
