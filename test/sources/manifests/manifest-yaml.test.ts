import { expect, test } from '@jest/globals';
import { parseYaml } from '../../../src/sources/manifests/manifest-yaml.ts';

test('YAML is read as Kubernetes reads it: octal modes, yes for true, 80:80 and dates as texts', () => {
  const text = 'mode: 0644\ntty: yes\nargs: [80:80, 2026-01-31]';
  expect(parseYaml(text)).toEqual([{ mode: 0o644, tty: true, args: ['80:80', '2026-01-31'] }]);
});

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
