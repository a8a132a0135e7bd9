import { describe, expect, test } from '@jest/globals';
import {
  cutText,
  padText,
  printable,
  textWidth,
  wrapText,
} from '../../../src/policies/formats/terminal-text.ts';

const RED = '\u001b[31mred\u001b[39m';

test.each([
  ['', 0],
  ['abc', 3],
  [RED, 3],
  ['ポッド', 6],
  ['🚀', 2],
  ['e\u0301', 1],
])('%j takes %d cells', (text, width) => {
  expect(textWidth(text)).toBe(width);
});

describe('a text is cut', () => {
  test.each([
    ['abc', 3, 'abc'],
    ['abcd', 3, 'ab…'],
    ['abcd', 1, '…'],
    ['abcd', 0, ''],
    ['日本語', 4, '日…'],
    [RED, 3, RED],
    [`${RED} and more`, 5, `${RED} \u001b[0m…`],
  ])('%j to %d cells', (text, width, cut) => {
    expect(cutText(text, width)).toBe(cut);
    expect(textWidth(cut)).toBeLessThanOrEqual(width);
  });
});

test('a text is filled up by what is seen of it', () => {
  expect(padText(RED, 5)).toBe(`${RED}  `);
  expect(padText('long', 2)).toBe('long');
});

test('a text is wrapped between words, and a word that is too long is cut', () => {
  expect(wrapText('waits for an image', 9)).toEqual(['waits for', 'an image']);
  expect(wrapText('a supercalifragilistic b', 6)).toEqual(['a', 'super…', 'b']);
  expect(wrapText('short', 9)).toEqual(['short']);
});

test('control characters of a text move no cursor', () => {
  expect(printable('a\u001b[2Jb\rc\nd')).toBe('a [2Jb c\nd');
});
