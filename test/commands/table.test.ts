import { expect, test } from '@jest/globals';
import { formatTable } from '../../src/commands/table.ts';

test('each column is as wide as its widest cell; no line ends with spaces', () => {
  const rows = [
    ['NAME', 'READY', 'NOTE'],
    ['a-long-name', '1/1', ''],
    ['b', '10/10', 'late'],
  ];
  expect(formatTable(rows)).toBe(
    ['NAME          READY   NOTE', 'a-long-name   1/1', 'b             10/10   late', ''].join('\n'),
  );
});

test('a table without rows is empty', () => {
  expect(formatTable([])).toBe('');
});

test('a cell that others fill stays one cell in one line, and is counted as it is shown', () => {
  const rows = [
    ['NAME', 'NOTE'],
    ['a\u001b[2J', 'one\ntwo'],
    ['日本', 'b\u202e'],
  ];
  expect(formatTable(rows)).toBe(
    ['NAME         NOTE', String.raw`a\u001b[2J   one two`, String.raw`日本         b\u202e`, ''].join('\n'),
  );
});
