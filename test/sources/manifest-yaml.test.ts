import { expect, test } from '@jest/globals';
import { parseYaml } from '../../src/sources/manifest-yaml.ts';

test.each(['.', '-.', '._', 'e5', '-e5', '+E10'])('%s is a text', (text) => {
  expect(parseYaml(`dir: ${text}`)).toEqual([{ dir: text }]);
});

test.each([
  ['1.', 1],
  ['.5', 0.5],
  ['1e3', 1000],
  ['-1_0.5', -10.5],
  ['.inf', Infinity],
  ['-.inf', -Infinity],
  ['.nan', NaN],
])('%s is a number', (text, number) => {
  expect(parseYaml(`dir: ${text}`)).toEqual([{ dir: number }]);
});
