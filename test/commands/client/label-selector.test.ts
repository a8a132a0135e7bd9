import { expect, test } from '@jest/globals';
import { labelSelector } from '../../../src/commands/client/label-selector.ts';

const LABELS = { app: 'web', tier: 'front', 'example.com/x': '' };

test.each([
  [undefined, true],
  ['', true],
  ['app=web', true],
  ['app==web,tier=front', true],
  ['app=web,tier=back', false],
  ['app!=web', false],
  ['none!=web', true],
  ['app in (db, web)', true],
  ['app notin (db,web),tier', false],
  ['none notin (a)', true],
  ['example.com/x', true],
  ['example.com/x=', true],
  ['!none', true],
  ['!app', false],
  ['none', false],
])('%s: %s', (text, isSelected) => {
  expect(labelSelector(text)(LABELS)).toBe(isSelected);
});

test('a pod without labels is selected only by selectors for missing labels', () => {
  expect(labelSelector('!app')(undefined)).toBe(true);
  expect(labelSelector('app')(undefined)).toBe(false);
});

test.each(['app in (a', '=x', 'app=a b', 'a,,b', 'app>2'])('%s is refused', (text) => {
  expect(() => labelSelector(text)).toThrow(/^--selector: ".*" in ".*" is none of KEY=VALUE/u);
});
