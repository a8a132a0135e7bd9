import { describe, expect, test } from '@jest/globals';
import { findCgroupMounts } from '../../../../src/agent/policies/cgroups/cgroup-mounts.ts';

const v1 = (mountPoint: string, options: string) =>
  `33 31 0:30 / ${mountPoint} rw,relatime shared:9 - cgroup cgroup rw,${options}`;
const v2 = (mountPoint: string) => `41 31 0:38 / ${mountPoint} rw,relatime - cgroup2 cgroup2 rw,nsdelegate`;
const OTHERS =
  '23 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw';
const find = (...lines: string[]) => findCgroupMounts([OTHERS, ...lines, ''].join('\n'));

describe('cgroup mounts', () => {
  test('v1: controllers that are mounted alone and together, and trees without controllers', () => {
    const mounts = find(
      v1('/sys/fs/cgroup/cpu,cpuacct', 'cpu,cpuacct'),
      v1('/sys/fs/cgroup/memory', 'xattr,memory'),
      v1('/sys/fs/cgroup/systemd', 'xattr,release_agent=/lib/systemd/agent,name=systemd'),
    );
    expect(mounts).toEqual({
      version: 1,
      hierarchies: [
        { mountPoint: '/sys/fs/cgroup/cpu,cpuacct', controllers: ['cpu', 'cpuacct'] },
        { mountPoint: '/sys/fs/cgroup/memory', controllers: ['memory'] },
        { mountPoint: '/sys/fs/cgroup/systemd', controllers: [] },
      ],
    });
  });

  test('v1 with a v2 tree beside it is v1', () => {
    const mounts = find(v2('/sys/fs/cgroup/unified'), v1('/sys/fs/cgroup/cpu', 'cpu'));
    expect(mounts.version).toBe(1);
    expect(mounts.hierarchies).toContainEqual({ mountPoint: '/sys/fs/cgroup/unified', controllers: [] });
  });

  test('v1: a hierarchy that is mounted twice counts once', () => {
    expect(find(v1('/a', 'cpu'), v1('/b', 'cpu')).hierarchies).toEqual([
      { mountPoint: '/a', controllers: ['cpu'] },
    ]);
  });

  test('v2: the first mount counts, also if systemd has its own v1 tree', () => {
    const mounts = find(v2('/sys/fs/cgroup'), v2('/mnt/other'), v1('/sys/fs/cgroup/systemd', 'name=systemd'));
    expect(mounts).toEqual({ version: 2, hierarchies: [{ mountPoint: '/sys/fs/cgroup', controllers: [] }] });
  });

  test('without cgroup mounts there is no version', () => {
    expect(find()).toEqual({ hierarchies: [] });
  });

  test('blanks in paths are decoded', () => {
    expect(find(v2('/my\\040cgroups')).hierarchies[0]?.mountPoint).toBe('/my cgroups');
  });
});
