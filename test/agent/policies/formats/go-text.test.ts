import { expect, test } from '@jest/globals';
import {
  asInt64,
  asOneMessage,
  goFloat,
  goJSON,
  goQuote,
  goQuoteBytes,
  MAY_EXCEED_INT64,
} from '../../../../src/agent/policies/formats/go-text.ts';

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

test.each([
  [0, '0'],
  [-0, '-0'],
  [100.25, '100.25'],
  [999_999, '999999'],
  [999_999.5, '999999.5'],
  [1_000_000, '1e+06'],
  [-20_971_520, '-2.097152e+07'],
  [123_456_789, '1.23456789e+08'],
  [0.0001, '0.0001'],
  [0.00001, '1e-05'],
  [10 / 3, '3.3333333333333335'],
  [1e100, '1e+100'],
  [Infinity, '+Inf'],
  [-Infinity, '-Inf'],
  [NaN, 'NaN'],
])('%d is %s', (value, text) => {
  expect(goFloat(value)).toBe(text);
});

const LIMIT = 2 ** 63;

test.each([
  '9223372036854775807',
  '-9223372036854775808',
  '+9223372036854775807',
  '9_223_372_036_854_775_807',
  '0x7fffffffffffffff',
  '0777777777777777777777',
])('%s is the largest or the smallest int64', (source) => {
  const value = source.startsWith('-') ? -LIMIT : LIMIT;
  expect(asInt64(value, source)).toBe(value);
});

test.each([
  '9223372036854775808',
  '9223372036854776832',
  '-9223372036854775809',
  '0x8000000000000000',
  '01000000000000000000000',
])('%s is beyond, though a number does not tell it from the last int64', (source) => {
  const value = source.startsWith('-') ? -LIMIT : LIMIT;
  expect(Math.abs(asInt64(value, source))).toBeGreaterThan(LIMIT);
  expect(Math.sign(asInt64(value, source))).toBe(Math.sign(value));
});

test('other numbers stay as they are', () => {
  for (const [value, source] of [
    [5, '5'],
    [2 ** 62, '4611686018427387904'],
    [1e23, '1e23'],
    [LIMIT, '9.223372036854775808e18'],
  ] as const)
    expect(asInt64(value, source)).toBe(value);
  expect(asInt64(LIMIT, undefined)).toBe(LIMIT);
});

test('texts with such numbers are recognised by a few digits', () => {
  for (const text of ['{"a": 9223372036854775808}', '{"a": 9223372036854776000}'])
    expect(MAY_EXCEED_INT64.test(text)).toBe(true);
  expect(MAY_EXCEED_INT64.test('{"a": 9223372036}')).toBe(false);
});

test('characters that could end a script in a page are escaped, also in names', () => {
  const text = goJSON({ '<a>': 'x && y\u2028\u2029', quote: '"\\' });
  expect(text).toBe(String.raw`{"\u003ca\u003e":"x \u0026\u0026 y\u2028\u2029","quote":"\"\\"}`);
  expect(JSON.parse(text)).toEqual({ '<a>': 'x && y\u2028\u2029', quote: '"\\' });
});

test('levels are indented by that many spaces', () => {
  expect(goJSON({ a: [1] }, 1)).toBe('{\n "a": [\n  1\n ]\n}');
});

test('several problems give one message, each text once', () => {
  expect(asOneMessage(['denied'])).toBe('denied');
  expect(asOneMessage(['denied', 'denied'])).toBe('denied');
  expect(asOneMessage(['denied', 'not found', 'denied'])).toBe('[denied, not found]');
});
