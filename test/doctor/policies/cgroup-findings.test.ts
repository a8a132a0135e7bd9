import { expect, test } from '@jest/globals';
import { type CgroupFacts, cgroupFindings } from '../../../src/doctor/policies/cgroup-findings.ts';

const ALL = ['cpu', 'cpuset', 'io', 'memory', 'pids'];
type Tree = Extract<CgroupFacts['tree'], { value: unknown }>['value'];

function findings(tree: Partial<Tree>, facts: Partial<CgroupFacts> = {}) {
  const mounts = [{ path: '/sys/fs/cgroup', controllers: ALL, readOnly: false }];
  return cgroupFindings({
    mountinfo: '/proc/self/mountinfo',
    tree: { value: { version: 2, mounts, missingRoots: [], ...tree } },
    cgroupRoot: '/',
    cgroupsPerQOS: true,
    limitsPIDs: false,
    ...facts,
  });
}
const v2 = (controllers: readonly string[], readOnly = false) => [
  { path: '/sys/fs/cgroup', controllers, readOnly },
];

test('a v2 tree with all controllers is fine', () => {
  expect(findings({})).toEqual([
    { check: 'cgroups', status: 'ok', message: 'cgroup v2 at /sys/fs/cgroup: cpu, cpuset, io, memory, pids' },
  ]);
});

test('without a cgroup file system the command that mounts one is named', () => {
  expect(findings({ version: undefined, mounts: [] })).toEqual([
    {
      check: 'cgroups',
      status: 'error',
      message: 'no cgroup file system is mounted (looked in /proc/self/mountinfo)',
      mend: 'mount -t cgroup2 none /sys/fs/cgroup',
    },
  ]);
});

test('a tree that is mounted read-only is named with the command that makes it writable', () => {
  expect(findings({ mounts: v2(ALL, true) })).toMatchObject([
    {
      status: 'error',
      message: '/sys/fs/cgroup is mounted read-only: cgroups of pods cannot be made',
      mend: expect.stringMatching(/^mount -o remount,rw \/sys\/fs\/cgroup /u),
    },
  ]);
});

test('a controller without which pods cannot be limited is an error, another one a warning', () => {
  expect(findings({ mounts: v2(['cpu', 'io', 'cpuset']) })).toMatchObject([
    {
      status: 'error',
      message: '/sys/fs/cgroup/cgroup.controllers does not list memory',
      mend: expect.stringContaining('cgroup_enable=memory'),
    },
    { status: 'warning', message: '/sys/fs/cgroup/cgroup.controllers does not list pids' },
  ]);
});

test('pids is needed where processes are limited, and nothing is where pods have no cgroups', () => {
  const mounts = v2(['cpu', 'io', 'cpuset', 'memory']);
  expect(findings({ mounts }, { limitsPIDs: true })).toMatchObject([{ status: 'error' }]);
  expect(findings({ mounts: v2([]) }, { cgroupsPerQOS: false })).toEqual(
    Array.from({ length: 5 }, () => expect.objectContaining({ status: 'warning' })),
  );
});

test('v1 works, with a warning, and each of its hierarchies counts', () => {
  const mounts = ['cpu', 'cpuset', 'blkio', 'pids', 'memory'].map((name) => ({
    path: `/sys/fs/cgroup/${name}`,
    controllers: [name],
    readOnly: name === 'memory',
  }));
  expect(findings({ version: 1, mounts })).toMatchObject([
    { status: 'error', message: expect.stringContaining('/sys/fs/cgroup/memory is mounted read-only') },
    { status: 'warning', mend: expect.stringContaining('systemd.unified_cgroup_hierarchy=1') },
  ]);
  expect(findings({ version: 1, mounts: mounts.slice(1) })).toContainEqual(
    expect.objectContaining({ message: 'no cgroup v1 hierarchy has the controller cpu' }),
  );
});

test('the empty v2 tree beside v1 may be read-only', () => {
  const mounts = [
    {
      path: '/sys/fs/cgroup/all',
      controllers: ['cpu', 'cpuset', 'blkio', 'pids', 'memory'],
      readOnly: false,
    },
    { path: '/sys/fs/cgroup/unified', controllers: [], readOnly: true },
  ];
  expect(findings({ version: 1, mounts }).map(({ status }) => status)).toEqual(['warning']);
});

test('a --cgroup-root that is missing is named with the command that makes it', () => {
  const missingRoots = ['/sys/fs/cgroup/pods'];
  expect(findings({ missingRoots }, { cgroupRoot: '/pods' })).toMatchObject([
    {
      status: 'error',
      message: expect.stringContaining('--cgroup-root /pods'),
      mend: 'mkdir -p /sys/fs/cgroup/pods',
    },
  ]);
});

test('mounts that cannot be read are an error, and unknown to a user who may not', () => {
  const read = (isForbidden: boolean) =>
    findings({}, { tree: { problem: 'does not exist', isForbidden } })[0]?.status;
  expect([read(false), read(true)]).toEqual(['error', 'unknown']);
});
