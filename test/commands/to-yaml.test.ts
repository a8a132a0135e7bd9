import { expect, test } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { toYAML } from '../../src/commands/to-yaml.ts';
import { isPrintable, printable } from '../../src/agent/policies/formats/terminal-text.ts';
import { HOSTILE } from '../support/hostile-text.ts';

test.each([
  ['in a value', { note: HOSTILE }],
  ['in a key', { [HOSTILE]: 1 }],
  ['in a list, among other lines', ['one\ntwo', `one\n${HOSTILE}\n${'long '.repeat(50)}`]],
  ['outside of the first plane', { tag: 'a\u{e0041}b' }],
])('what acts on a terminal is printed with escapes that mean the same: %s', (_, value) => {
  const shown = printable(toYAML(value));
  expect(isPrintable(shown)).toBe(true);
  expect(parse(shown)).toEqual(value);
});

test('a character outside of the first plane has the one escape of YAML', () => {
  expect(toYAML({ tag: 'a\u{e0041}b' })).toBe('tag: "a\\U000e0041b"\n');
});

test('texts that another version of YAML would read as something else are quoted', () => {
  const value = { time: '2030-01-01T00:00:00Z', no: 'off', octal: '0755' };
  const text = toYAML(value);
  expect(parse(text, { version: '1.1' })).toEqual(value);
  expect(text).toBe('time: "2030-01-01T00:00:00Z"\n"no": "off"\noctal: "0755"\n');
});

test('other texts are written as before', () => {
  const value = { text: 'two\nlines\n', long: 'word '.repeat(40), name: 'שלום', list: [{ a: 1 }, null] };
  expect(toYAML(value)).toBe(stringify(value));
});
