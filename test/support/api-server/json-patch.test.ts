import { describe, expect, test } from '@jest/globals';
import { applyJsonPatch, applyMerge } from './json-patch.ts';

describe('a JSON patch', () => {
  const original = { a: [1, 2, 3], b: { 'x/y': 1, 'm~n': 2 } };

  test.each([
    ['adds in the middle of a list', [{ op: 'add', path: '/a/1', value: 9 }], { a: [1, 9, 2, 3] }],
    ['adds at the end of a list', [{ op: 'add', path: '/a/-', value: 9 }], { a: [1, 2, 3, 9] }],
    ['removes an item', [{ op: 'remove', path: '/a/0' }], { a: [2, 3] }],
    ['reads ~1 as a slash', [{ op: 'replace', path: '/b/x~1y', value: 7 }], { b: { 'x/y': 7, 'm~n': 2 } }],
    ['reads ~0 as a tilde', [{ op: 'remove', path: '/b/m~0n' }], { b: { 'x/y': 1 } }],
    ['moves', [{ op: 'move', from: '/a/0', path: '/c' }], { a: [2, 3], c: 1 }],
    ['copies', [{ op: 'copy', from: '/b', path: '/c' }], { c: original.b }],
  ])('%s', (_, patch, expected) => {
    expect(applyJsonPatch(original, patch)).toEqual({ ...original, ...expected });
  });

  test('adds a member of any name', () => {
    const patched = applyJsonPatch(original, [{ op: 'add', path: '/__proto__', value: 1 }]);
    expect(Object.keys(patched as object)).toContain('__proto__');
  });

  test.each([
    [[{ op: 'test', path: '/a/0', value: 2 }], 'testing value /a/0 failed'],
    [[{ op: 'replace', path: '/none', value: 2 }], '/none: missing path'],
    [[{ op: 'add', path: '/a/9', value: 2 }], 'invalid index'],
    [[{ op: 'remove', path: '/constructor' }], '/constructor: missing path'],
    [[{ op: 'what', path: '/a' }], 'Unexpected kind: what'],
    [{}, 'a JSON patch is a list'],
  ])('%j is refused', (patch, why) => {
    expect(() => applyJsonPatch(original, patch)).toThrow(why);
    expect(original).toEqual({ a: [1, 2, 3], b: { 'x/y': 1, 'm~n': 2 } });
  });
});

test('a merge patch removes with null, at any depth, and replaces lists', () => {
  const original = { a: { b: 1, c: 2 }, list: [1, 2] };
  expect(applyMerge(original, { a: { b: null, d: { e: null, f: 1 } }, list: [3] })).toEqual({
    a: { c: 2, d: { f: 1 } },
    list: [3],
  });
});
