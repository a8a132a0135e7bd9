import { expect, test } from '@jest/globals';
import { parseMountInfo } from '../../../src/policies/formats/mountinfo.ts';
import { isWithin, mountOf, mountsBelow } from '../../../src/policies/volumes/mount-table.ts';

const MOUNTS = parseMountInfo(
  [
    '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
    '36 22 0:30 / /pods/u/volumes/a rw master:3 - tmpfs tmpfs rw,size=4k',
    '37 36 0:31 / /pods/u/volumes/a/b\\040c\\134d rw shared:7 master:1 - tmpfs tmpfs rw',
    '38 22 8:1 /x//deleted /pods/u/volumes/a rw - ext4 /dev/sda1 rw',
    '39 22 8:1 / /pods/u2 rw - ext4 - rw',
    '',
  ].join('\n'),
);

test('the mounts of a pod are unmounted in the reverse order of mounting', () => {
  expect(mountsBelow(MOUNTS, '/pods/u')).toEqual([
    '/pods/u/volumes/a',
    '/pods/u/volumes/a/b c\\d',
    '/pods/u/volumes/a',
  ]);
});

test('a folder lies on the nearest mount, of several in one place on the last', () => {
  expect(mountOf(MOUNTS, '/pods/u/volumes/a/b c\\d/e')).toMatchObject({
    path: '/pods/u/volumes/a/b c\\d',
    shared: true,
  });
  expect(mountOf(MOUNTS, '/pods/u/volumes/a/x')).toMatchObject({
    path: '/pods/u/volumes/a',
    shared: false,
    type: 'ext4',
  });
  expect(mountOf(MOUNTS, '/pods/u/volumes/ab')).toMatchObject({ path: '/', shared: true });
});

test('a folder whose name only begins like that of another lies elsewhere', () => {
  expect(isWithin('/pods/u', '/pods/u2')).toBe(false);
  expect(isWithin('/', '/pods')).toBe(true);
});
