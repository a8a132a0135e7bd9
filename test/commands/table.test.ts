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
