import { expect, test } from '@jest/globals';
import { goJSON } from '../../../src/policies/formats/go-json.ts';

test('characters that could end a script in a page are escaped, also in names', () => {
  const text = goJSON({ '<a>': 'x && y\u2028\u2029', quote: '"\\' });
  expect(text).toBe(String.raw`{"\u003ca\u003e":"x \u0026\u0026 y\u2028\u2029","quote":"\"\\"}`);
  expect(JSON.parse(text)).toEqual({ '<a>': 'x && y\u2028\u2029', quote: '"\\' });
});

test('levels are indented by that many spaces', () => {
  expect(goJSON({ a: [1] }, 1)).toBe('{\n "a": [\n  1\n ]\n}');
});
