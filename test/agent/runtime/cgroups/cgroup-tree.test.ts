import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CgroupTree } from '../../../../src/agent/runtime/cgroups/cgroup-tree.ts';
import { warnings } from '../../../support/warnings.ts';
import { PlainCgroups } from './cgroup-bed.ts';

let plain: PlainCgroups;
beforeEach(() => {
  plain = new PlainCgroups();
});
afterEach(() => plain.remove());

const open = (needed: readonly string[] = [], { logger } = warnings()) =>
  new CgroupTree(plain.mountinfoFile, needed, logger);

test('a cgroup is created in every hierarchy that has controllers', () => {
  plain.mountV1('cpu,cpuacct', 'memory', 'name=systemd');
  const tree = open(['cpu', 'memory']);
  expect(tree.make('/pods', { recursive: false })).toBe(true);
  expect(tree.make('/pods', { recursive: false })).toBe(false);
  expect(
    ['cpu,cpuacct', 'memory', 'name=systemd'].map((name) => existsSync(plain.path(name, 'pods'))),
  ).toEqual([...[true, true, false]]);
  expect(tree.folders('/pods')).toHaveLength(3);
  expect([tree.exists('/pods'), tree.exists('/none')]).toEqual([true, false]);
});

test('the controllers of cgroup v2 are read from the tree', () => {
  plain.mountV2('cpu memory');
  const tree = open();
  expect([tree.version, tree.has('memory'), tree.has('pids')]).toEqual([2, true, false]);
});

test('a missing required controller is named, with the controllers that were found', () => {
  plain.mountV1('cpu');
  expect(() => open(['cpu', 'memory'])).toThrow('cgroup v1 has no controller memory (found: cpu)');
});

test('without cgroups the error names the file that was read', () => {
  writeFileSync(plain.mountinfoFile, '23 1 254:0 / / rw - ext4 /dev/vda rw\n');
  expect(() => open()).toThrow(`no cgroup file system is mounted (looked in ${plain.mountinfoFile})`);
});

test('a value that cannot be written throws; a missing optional file leads to one warning', () => {
  plain.mountV2('cpu memory');
  const log = warnings();
  const tree = open([], log);
  tree.make('/pods', { recursive: false });
  mkdirSync(plain.path('v2/pods/memory.max'));
  const value = { controller: 'memory', file: 'memory.max', value: '1' } as const;
  expect(() => tree.write('/pods', [value])).toThrow('cannot be set to "1"');
  const hugetlb = { controller: 'hugetlb', file: 'hugetlb.max', value: '1', optional: true } as const;
  expect(() => tree.write('/pods', [hugetlb])).toThrow('no controller hugetlb');
  const missing = { controller: 'memory', file: 'gone/memory.swap.max', value: '1', optional: true } as const;
  tree.write('/pods', [missing]);
  tree.write('/pods', [missing]);
  expect(log.messages).toEqual(['This kernel has no gone/memory.swap.max: pods run without that limit']);
});

test('the child cgroups are those of all hierarchies, without files', () => {
  plain.mountV1('cpu', 'memory');
  mkdirSync(plain.path('cpu/pods/one/deep'), { recursive: true });
  mkdirSync(plain.path('memory/pods/two'), { recursive: true });
  writeFileSync(plain.path('memory/pods/tasks'), '');
  expect([...open().children('/pods')].toSorted()).toEqual(['one', 'two']);
});
