import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { findCgroupMounts } from '../../../../src/agent/policies/cgroups/cgroup-mounts.ts';
import { CgroupTree } from '../../../../src/agent/runtime/cgroups/cgroup-tree.ts';
import { delegateControllers, joinCgroup } from '../../../../src/agent/runtime/cgroups/delegation.ts';
import { testAsRoot } from '../../../support/as-root.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';
import { warnings } from '../../../support/warnings.ts';
import { PlainCgroups } from './cgroup-bed.ts';

describe('delegation', () => {
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
    expect([enabled(), enabled('a'), enabled('a/b')]).toEqual([
      '+cpu +memory',
      '+cpu +memory',
      '+cpu +memory',
    ]);
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

  test('v2: controllers that are not required and cannot be enabled are logged once, each with its name', () => {
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
});

describe('join cgroup', () => {
  const run = promisify(execFile);

  let cgroups: PlainCgroups;
  beforeEach(() => {
    cgroups = new PlainCgroups();
  });
  afterEach(() => rmSync(cgroups.dir, { recursive: true }));

  const join = (group: string) => {
    const { logger, lines } = recordingLogger();
    joinCgroup(group, logger, cgroups.mountinfoFile);
    return lines.map(({ message }) => message);
  };

  describe('the agent joins the cgroup', () => {
    test('in each hierarchy of v1 that limits or counts something', () => {
      cgroups.mountV1('memory', 'cpu,cpuacct', 'cpuset', 'name=systemd');
      expect(join('/agents/statelet')).toEqual([]);
      for (const hierarchy of ['memory', 'cpu,cpuacct'])
        expect(cgroups.read(hierarchy, 'agents/statelet/cgroup.procs')).toBe('0');
      for (const hierarchy of ['cpuset', 'name=systemd'])
        expect(existsSync(cgroups.path(hierarchy, 'agents'))).toBe(false);
    });

    test('of v2', () => {
      cgroups.mountV2('cpu memory');
      expect(join('/statelet')).toEqual([]);
      expect(cgroups.read('v2', 'statelet/cgroup.procs')).toBe('0');
    });
  });

  test('without a name the agent stays in its cgroup', () => {
    cgroups.mountV2('cpu memory');
    expect(join('')).toEqual([]);
    expect(existsSync(cgroups.path('v2', 'cgroup.procs'))).toBe(false);
  });

  test('a cgroup that cannot be made is a warning that names the flag and the cgroup', () => {
    cgroups.mountV2('cpu memory');
    writeFileSync(cgroups.path('v2', 'taken'), '');
    expect(join('/taken/statelet').join()).toContain(
      '--kubelet-cgroups: the agent could not be moved into the cgroup /taken/statelet: ',
    );
  });

  test('a machine without cgroups leads to the same warning', () => {
    writeFileSync(cgroups.mountinfoFile, '');
    expect(join('/statelet').join()).toContain('no cgroup file system is mounted');
  });

  testAsRoot('a process of this machine is in the cgroup that it has joined', async () => {
    const group = `/statelet-test-join-${process.pid}`;
    const module = new URL('../../../../src/agent/runtime/cgroups/delegation.ts', import.meta.url).href;
    const script = `
    import { readFileSync } from 'node:fs';
    const { joinCgroup } = await import('${module}');
    joinCgroup('${group}', { warn: (_, message) => console.log(message) });
    console.log(readFileSync('/proc/self/cgroup', 'utf8'));`;
    const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script]);
    const { version, hierarchies } = findCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
    for (const { mountPoint } of hierarchies)
      if (existsSync(mountPoint + group)) rmdirSync(mountPoint + group);
    const own = version === 1 ? /^\d+:[^:]*\bmemory\b[^:]*:(.*)$/m : /^0::(.*)$/m;
    expect(own.exec(stdout)?.[1]).toMatch(new RegExp(`${group}$`));
    expect(stdout).not.toContain('--kubelet-cgroups');
  });
});
