import { describe, expect, test } from '@jest/globals';
import {
  cutText,
  isPrintable,
  oneLine,
  padText,
  printable,
  printableStyled,
  textWidth,
  wrapText,
} from '../../../../src/agent/policies/formats/terminal-text.ts';

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

describe('a text of others', () => {
  const acting = [
    ...['\u0000', '\u0007', '\b', '\r', '\u001b', '\u007f', '\u0080', '\u0085', '\u009b', '\u009f'],
    ...['\u202a', '\u202b', '\u202c', '\u202d', '\u202e', '\u2066', '\u2067', '\u2068', '\u2069'],
    ...['\u200e', '\u200f', '\u061c', '\u2028', '\u2029', '\u200b', '\u2060', '\ufeff', '\u00ad', '\u3164'],
    ...['\ud800', '\udc00'],
  ];
  test.each(acting.map((one) => [one.charCodeAt(0).toString(16).padStart(4, '0'), one]))(
    'U+%s is shown as JSON writes it',
    (code, one) => {
      expect(printable(`a${one}b`)).toBe(`a\\u${code}b`);
      expect(isPrintable(`a${one}b`)).toBe(false);
      expect(JSON.parse(printable(JSON.stringify(`a${one}b`)))).toBe(`a${one}b`);
    },
  );

  test('a character outside of the first plane is shown by both its halves', () => {
    expect(printable('\u{e0041}')).toBe('\\udb40\\udc41');
  });

  test.each([
    ['Hebrew', 'שלום עולם'],
    ['Arabic', 'مرحبا \u0601٢'],
    ['Persian with a joiner', 'می\u200cخواهم'],
    ['Devanagari with a joiner', 'क्\u200dष'],
    ['accents', 'e\u0301'],
    ['pictures of several characters', '👩🏽‍🚀 👨‍👩‍👧 ❤️‍🔥'],
    ['Chinese', '日本語'],
    ['signs of a private font', '\ue0b0'],
    ['lines and tabs', 'a\n\tb'],
  ])('%s stays as it is', (_, text) => {
    expect(printable(text)).toBe(text);
    expect(isPrintable(text)).toBe(true);
  });

  test('a joiner that only hides is shown', () => {
    expect(printable('pay\u200dpal \u200d 👩\u200d')).toBe('pay\\u200dpal \\u200d 👩\\u200d');
  });

  test('line breaks of Windows are line breaks', () => {
    expect(printable('a\r\nb')).toBe('a\nb');
  });

  test('in one line stays in one line', () => {
    expect(oneLine('a\n\n\tb\r\nc\u2028d')).toBe('a b c\\u2028d');
  });

  test('of our own colours only colours stay', () => {
    expect(printableStyled('\u001b[1mbold\u001b[22m \u001b[2J\u001b]0;x\u0007')).toBe(
      '\u001b[1mbold\u001b[22m \\u001b[2J\\u001b]0;x\\u0007',
    );
  });
});
