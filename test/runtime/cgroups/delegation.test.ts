import { mkdirSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CgroupTree } from '../../../src/runtime/cgroups/cgroup-tree.ts';
import { delegateControllers } from '../../../src/runtime/cgroups/delegation.ts';
import { warnings } from '../../support/warnings.ts';
import { PlainCgroups } from './cgroup-bed.ts';

let plain: PlainCgroups;
beforeEach(() => {
  plain = new PlainCgroups();
});
afterEach(() => plain.remove());

const open = () => new CgroupTree(plain.mountinfoFile, [], warnings().logger);
const enabled = (...parts: string[]) => plain.values('v2', ...parts)['cgroup.subtree_control'];

test('v2: every cgroup on the path enables its controllers', () => {
  plain.mountV2('cpu memory rdma');
  mkdirSync(plain.path('v2/a/b'), { recursive: true });
  delegateControllers(open(), '/a/b', ['cpu']);
  expect([enabled(), enabled('a'), enabled('a/b')]).toEqual(['+cpu +memory', '+cpu +memory', '+cpu +memory']);
});

test('v2: a cgroup that has enabled some controllers enables the others', () => {
  plain.mountV2('cpu memory');
  writeFileSync(plain.path('v2/cgroup.subtree_control'), 'cpu\n');
  delegateControllers(open(), '/', ['cpu']);
  expect(enabled()).toBe('+memory');
});

test('v2: a required controller that cannot be enabled is named, with its file', () => {
  plain.mountV2('cpu memory');
  mkdirSync(plain.path('v2/cgroup.subtree_control'));
  expect(() => delegateControllers(open(), '/', ['memory'])).toThrow(
    /cgroup\.subtree_control: the controller memory cannot be enabled/,
  );
  expect(() => delegateControllers(open(), '/', [])).not.toThrow();
});

test('v2: each required controller that is not passed on to a cgroup is named', () => {
  plain.mountV2('cpu memory pids');
  mkdirSync(plain.path('v2/a'));
  writeFileSync(plain.path('v2/a/cgroup.controllers'), 'pids\n');
  expect(() => delegateControllers(open(), '/a', ['cpu', 'memory', 'pids'])).toThrow(
    `${plain.path('v2/a/cgroup.controllers')} has no cpu, memory: the group above it does not pass the controller on`,
  );
});

test('v2: controllers that are not required and cannot be enabled are told once, each with its name', () => {
  plain.mountV2('cpu memory io hugetlb');
  mkdirSync(plain.path('v2/a'));
  mkdirSync(plain.path('v2/cgroup.subtree_control'));
  const { logger, messages } = warnings();
  const tree = new CgroupTree(plain.mountinfoFile, [], logger);
  for (const group of ['/', '/a']) delegateControllers(tree, group, []);
  expect(messages).toEqual([
    expect.stringMatching(
      /v2\/cgroup\.subtree_control: the controllers cpu, memory, io, hugetlb cannot be enabled: EISDIR.*; pods run without the limits of it$/,
    ),
  ]);
});

test.each(['threaded', 'domain threaded', 'domain invalid'])(
  'v2: a cgroup on the path that is "%s" is named, before anything is written there',
  (type) => {
    plain.mountV2('cpu memory');
    mkdirSync(plain.path('v2/a/b'), { recursive: true });
    writeFileSync(plain.path('v2/a/cgroup.type'), `${type}\n`);
    expect(() => delegateControllers(open(), '/a/b', ['cpu'])).toThrow(
      `${plain.path('v2/a')}/cgroup.type is "${type}": the memory of pods cannot be limited below a threaded group`,
    );
    expect([enabled('a'), enabled('a/b')]).toEqual([undefined, undefined]);
  },
);

test('v1: an empty cpuset gets the CPUs and the memory of the cpuset above it', () => {
  plain.mountV1('cpuset');
  mkdirSync(plain.path('cpuset/a/b'), { recursive: true });
  for (const [folder, cpus] of [
    ['cpuset', '0-3'],
    ['cpuset/a', '\n'],
    ['cpuset/a/b', '1'],
  ] as const) {
    writeFileSync(plain.path(folder, 'cpuset.cpus'), cpus);
    writeFileSync(plain.path(folder, 'cpuset.mems'), '0');
  }
  delegateControllers(open(), '/a/b', []);
  expect(plain.read('cpuset/a', 'cpuset.cpus')).toBe('0-3');
  expect(plain.values('cpuset/a/b')).toEqual({
    'cpuset.cpus': '1',
    'cpuset.mems': '0',
    'cgroup.clone_children': '1',
  });
});
