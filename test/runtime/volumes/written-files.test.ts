import { expect, test } from '@jest/globals';
import { digestOf } from '../../../src/runtime/volumes/written-files.ts';

const digest = (files: Readonly<Record<string, string | Uint8Array>>, mode = 0o644) =>
  digestOf(new Map(Object.entries(files).map(([path, content]) => [path, { path, content, mode }])));

test('the digest tells files of other paths or contents apart, and nothing else', () => {
  const files = { a: 'x', 'b/c': 'y' };
  expect(digest({ ...files }, 0o600)).toBe(digest(files));
  expect(digest({ a: Buffer.from('x'), 'b/c': 'y' })).toBe(digest(files));
  const others: Record<string, string>[] = [
    { a: 'x' },
    { a: 'x', 'b/d': 'y' },
    { a: 'y', 'b/c': 'x' },
    { a: 'xb/c', '': 'y' },
    { a: '', x: '', 'b/c': 'y' },
    {},
  ];
  const all = new Set([files as Record<string, string>, ...others].map((each) => digest(each)));
  expect(all.size).toBe(others.length + 1);
});

test('the digest does not show the contents', () => {
  expect(digest({ password: 'hunter2' })).not.toContain('hunter2');
});
