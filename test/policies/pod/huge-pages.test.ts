import { expect, test } from '@jest/globals';
import { hugePageLimits, hugePageSizeName } from '../../../src/policies/pod/huge-pages.ts';

test.each([
  [64 * 1024, '64KB'],
  [2 * 1024 ** 2, '2MB'],
  [512 * 1024 ** 2, '512MB'],
  [1024 ** 3, '1GB'],
  [16 * 1024 ** 3, '16GB'],
])('pages of %d bytes are called %s', (bytes, name) => {
  expect(hugePageSizeName(bytes)).toBe(name);
});

test('the limits of a pod are found by the name of the page size, whatever the spelling', () => {
  const limits = { cpu: '1', 'hugepages-2Mi': '100Mi', 'hugepages-1048576Ki': '2Gi' };
  expect(hugePageLimits(limits)).toEqual(
    new Map([
      ['2MB', 100 * 1024 ** 2],
      ['1GB', 2 * 1024 ** 3],
    ]),
  );
  expect(hugePageLimits(undefined)).toEqual(new Map());
});

test('pages of size 0 do not exist', () => {
  expect(hugePageLimits({ 'hugepages-0': '1Mi' })).toEqual(new Map());
});

test('a size that is no quantity is an error', () => {
  expect(() => hugePageLimits({ 'hugepages-big': '1Mi' })).toThrow('quantities');
});
