import { describe, expect, test } from '@jest/globals';
import { isWithin, mountOf, mountsBelow, parseMountInfo } from '../../../src/policies/volumes/mount-table.ts';

describe('the table of mounts', () => {
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

  test('each line gives the path, the type, the options of the file system, and whether the mount is shared', () => {
    expect(MOUNTS[2]).toEqual({
      path: '/pods/u/volumes/a/b c\\d',
      type: 'tmpfs',
      options: ['rw'],
      shared: true,
    });
    expect(MOUNTS[1]).toMatchObject({ type: 'tmpfs', options: ['rw', 'size=4k'], shared: false });
  });

  test('a source of the name "-" does not end the optional fields', () => {
    expect(MOUNTS[4]).toEqual({ path: '/pods/u2', type: 'ext4', options: ['rw'], shared: false });
  });

  test('lines that are no mounts are left out', () => {
    expect(parseMountInfo('\n22 1 8:1 /\n22 1 8:1 / /a rw\n')).toEqual([]);
  });

  test('the mount that came last is unmounted first', () => {
    expect(mountsBelow(MOUNTS, '/pods/u')).toEqual([
      '/pods/u/volumes/a',
      '/pods/u/volumes/a/b c\\d',
      '/pods/u/volumes/a',
    ]);
  });

  test('a path is on the nearest mount above it; of several mounts on one path the last counts', () => {
    expect(mountOf(MOUNTS, '/pods/u/volumes/a/b c\\d/e')).toBe(MOUNTS[2]);
    expect(mountOf(MOUNTS, '/pods/u/volumes/a/x')).toBe(MOUNTS[3]);
    expect(mountOf(MOUNTS, '/pods/u/volumes/ab')).toBe(MOUNTS[0]);
  });

  test('a folder whose name only begins alike is not within another', () => {
    expect(isWithin('/pods/u', '/pods/u2')).toBe(false);
    expect(isWithin('/', '/pods')).toBe(true);
  });
});
