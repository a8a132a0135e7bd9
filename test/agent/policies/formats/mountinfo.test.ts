import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import {
  isWithin,
  mountOf,
  mountsBelow,
  parseMountInfo,
} from '../../../../src/agent/policies/formats/mountinfo.ts';

test('a mount has its path, its file system and the options of that, and may be read-only; optional fields may be missing', () => {
  expect(
    parseMountInfo(
      [
        '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
        '33 31 0:30 / /sys/fs/cgroup/memory rw master:3 propagate_from:2 - cgroup cgroup rw,memory',
        '41 31 0:38 / /mnt rw - cgroup2 cgroup2 rw',
        '42 31 0:38 / /bound ro,nosuid - cgroup2 cgroup2 rw',
        '43 31 0:39 / /whole rw - cgroup2 cgroup2 ro',
      ].join('\n'),
    ),
  ).toEqual([
    { path: '/', shared: true, readOnly: false, flags: ['rw', 'relatime'], type: 'ext4', options: ['rw'] },
    {
      path: '/sys/fs/cgroup/memory',
      shared: false,
      readOnly: false,
      flags: ['rw'],
      type: 'cgroup',
      options: ['rw', 'memory'],
    },
    { path: '/mnt', shared: false, readOnly: false, flags: ['rw'], type: 'cgroup2', options: ['rw'] },
    {
      path: '/bound',
      shared: false,
      readOnly: true,
      flags: ['ro', 'nosuid'],
      type: 'cgroup2',
      options: ['rw'],
    },
    { path: '/whole', shared: false, readOnly: true, flags: ['rw'], type: 'cgroup2', options: ['ro'] },
  ]);
});

test('blanks and backslashes of a path are unescaped', () => {
  const [mount] = parseMountInfo('37 36 0:31 / /a/b\\040c\\134d rw - tmpfs tmpfs rw\n');
  expect(mount?.path).toBe('/a/b c\\d');
});

test.each(['', 'no mount', '22 1 8:1 / /mnt rw shared:1', '22 1 8:1 / /mnt rw -'])(
  'the line "%s" is left out',
  (line) => expect(parseMountInfo(`${line}\n`)).toEqual([]),
);

test('the mounts of this machine have a root', () => {
  if (process.platform !== 'linux') return;
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  expect(mounts.map(({ path }) => path)).toContain('/');
});

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
