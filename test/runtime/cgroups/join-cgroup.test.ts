import { execFile } from 'node:child_process';
import { existsSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { findCgroupMounts } from '../../../src/policies/cgroups/cgroup-mounts.ts';
import { joinCgroup } from '../../../src/runtime/cgroups/join-cgroup.ts';
import { testAsRoot } from '../../support/as-root.ts';
import { recordingLogger } from '../../support/recording-logger.ts';
import { PlainCgroups } from './cgroup-bed.ts';

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

test('without a name it stays where it is', () => {
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

test('so is a machine without cgroups', () => {
  writeFileSync(cgroups.mountinfoFile, '');
  expect(join('/statelet').join()).toContain('no cgroup file system is mounted');
});

testAsRoot('a process of this machine is in the cgroup that it has joined', async () => {
  const group = `/statelet-test-join-${process.pid}`;
  const module = new URL('../../../src/runtime/cgroups/join-cgroup.ts', import.meta.url).href;
  const script = `
    import { readFileSync } from 'node:fs';
    const { joinCgroup } = await import('${module}');
    joinCgroup('${group}', { warn: (_, message) => console.log(message) });
    console.log(readFileSync('/proc/self/cgroup', 'utf8'));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', script]);
  const { version, hierarchies } = findCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
  for (const { mountPoint } of hierarchies) if (existsSync(mountPoint + group)) rmdirSync(mountPoint + group);
  const own = version === 1 ? /^\d+:[^:]*\bmemory\b[^:]*:(.*)$/m : /^0::(.*)$/m;
  expect(own.exec(stdout)?.[1]).toMatch(new RegExp(`${group}$`));
  expect(stdout).not.toContain('--kubelet-cgroups');
});
