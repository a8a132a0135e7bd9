import { expect, test } from '@jest/globals';
import { formatOperations, parseOperations } from '../../src/commands/operation-list.ts';

const parse = (text: string) => parseOperations(text, () => 20);

test.each([
  ['1,2,5', [1, 2, 5]],
  ['1-4,7,9-11', [1, 2, 3, 4, 7, 9, 10, 11]],
  ['3-3', [3]],
  ['0', [0]],
  ['', []],
])('"%s" is read as %j', (text, numbers) => {
  expect(parse(text)).toEqual(numbers);
});

test.each([
  [[1, 2, 5], '1,2,5'],
  [[1, 2, 3, 4, 7, 9, 10, 11], '1-4,7,9-11'],
  [[1, 3, 5], '1,3,5'],
  [[], '0'],
])('%j is written as %s, and read back as the same numbers', (numbers, text) => {
  expect(formatOperations(numbers)).toBe(text);
  expect(parse(text).filter((number) => number > 0)).toEqual(numbers);
});

test('a quarter of a million operations fit into a command', () => {
  const all = Array.from({ length: 250_000 }, (_, index) => index + 1);
  expect(formatOperations(all)).toBe('1-250000');
  expect(parseOperations('1-250000', () => 250_000)).toEqual(all);
});

test.each([
  ['1,x', '--only: "x" is not a whole number from 0 on, nor a range such as 4-17'],
  ['-4', '--only: "-4" is not a whole number from 0 on, nor a range such as 4-17'],
  ['9-4', '--only: "9-4" ends before it begins'],
  ['4,21', '--only: there is no operation 21; the plan has 20 operations'],
  ['1-99999999999999', '--only: there is no operation 99999999999999; the plan has 20 operations'],
])('"%s" is refused, and the error shows a valid form', (text, message) => {
  expect(() => parse(text)).toThrow(message);
});
