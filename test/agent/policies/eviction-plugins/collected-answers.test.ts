import { expect, test } from '@jest/globals';
import { isNamedIn } from '../../../../src/agent/policies/eviction-plugins/collected-answers.ts';

test.each([
  [[], false],
  [['rss'], true],
  [['numa'], false],
  [['*'], true],
  [['*', '-rss'], false],
  [['-rss', 'rss'], false],
  [['-numa', '*'], true],
])('the list %j: %s', (list, isNamed) => {
  expect(isNamedIn(list, 'rss')).toBe(isNamed);
});
