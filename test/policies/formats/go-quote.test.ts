import { expect, test } from '@jest/globals';
import { goQuote, goQuoteBytes } from '../../../src/policies/formats/go-quote.ts';

test.each([
  ['web', '"web"'],
  ['a "b" \\', '"a \\"b\\" \\\\"'],
  ['\u0007\b\f\n\r\t\v', '"\\a\\b\\f\\n\\r\\t\\v"'],
  ['\u0000\u001b\u007f', '"\\x00\\x1b\\x7f"'],
  ['é漢字 😀', '"é漢字 😀"'],
  ['\u00a0\u200b\u{e0001}', '"\\u00a0\\u200b\\U000e0001"'],
])('%j is quoted as %s', (text, want) => {
  expect(goQuote(text)).toBe(want);
  expect(goQuoteBytes(new TextEncoder().encode(text))).toBe(want);
});

test('bytes that are not UTF-8 are written as numbers', () => {
  expect(goQuoteBytes(Uint8Array.of(0x61, 0xff, 0xc3, 0x62, 0xe6, 0xbc))).toBe('"a\\xff\\xc3b\\xe6\\xbc"');
});
