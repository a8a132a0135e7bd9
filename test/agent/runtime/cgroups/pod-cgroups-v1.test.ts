import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findCgroupMounts } from '../../../../src/agent/policies/cgroups/cgroup-mounts.ts';
import { removeCgroups } from '../../../../src/agent/runtime/cgroups/cgroup-removal.ts';
import type { PodCgroupsParts } from '../../../../src/agent/runtime/cgroups/pod-cgroups.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { openCgroups, podOf } from './cgroup-bed.ts';
import type { AgentContext } from '../../../../src/types/agent-context.ts';
import { recorderOf } from '../../../support/test-context.ts';

const { version, hierarchies } = findCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
const isUsable = process.getuid?.() === 0 && version === 1;
if (!isUsable) process.stderr.write('SKIPPED: tests of cgroup v1 need root, and a machine with cgroup v1\n');

const children: ChildProcess[] = [];
/** A process that runs until it is killed. */
function sleeper(): { pid: number; ended: Promise<unknown> } {
  const child = spawn('sleep', ['1000'], { stdio: 'ignore' });
  children.push(child);
  return { pid: child.pid ?? NaN, ended: once(child, 'exit') };
}

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
});

(isUsable ? describe : describe.skip)('on the cgroup v1 of this machine', () => {
  const root = `/statelet-test-${process.pid}`;
  const withControllers = hierarchies.filter(({ controllers }) => controllers.length > 0);
  const mountOf = (controller: string): string =>
    hierarchies.find(({ controllers }) => controllers.includes(controller))?.mountPoint ?? '/none';
  const file = (controller: string, ...parts: string[]) => join(mountOf(controller), root, ...parts);
  const read = (controller: string, ...parts: string[]) =>
    readFileSync(file(controller, 'kubepods', ...parts), 'utf8').trim();
  const open = async (parts: Partial<PodCgroupsParts> = {}, context?: Partial<AgentContext>) => {
    const cgroups = await openCgroups({ cgroupRoot: root, podPidsLimit: 100, ...parts }, context);
    await cgroups.setUp();
    return cgroups;
  };

  beforeEach(() => {
    for (const controller of ['cpu', 'memory', 'pids']) mkdirSync(file(controller), { recursive: true });
  });

  afterEach(() => removeCgroups(hierarchies.map(({ mountPoint }) => join(mountPoint, root))));

  test('creations, changes and removals are measured', async () => {
    const measurements = new RecordedMeasurements();
    const cgroups = await open({}, { measurements });
    measurements.told.length = 0;
    for (const cpu of ['1', '1', '2']) await cgroups.ensurePod(podOf('u', { cpu }));
    await cgroups.removePod('unknown');
    await cgroups.removePod('u');
    expect(measurements.told.filter((line) => line.endsWith('ends'))).toEqual([
      'cgroup create ends',
      'cgroup update ends',
      'cgroup destroy ends',
    ]);
  });

  test('the kernel refuses a limit below the usage of the pods; the limit is set when they use less', async () => {
    await open();
    const procs = file('memory', 'kubepods', 'burstable', 'cgroup.procs');
    const hold = 'const held = Buffer.alloc(64 << 20, 1); console.log("up"); setInterval(() => held, 1e6)';
    const script = `echo $$ > ${procs}; exec "${process.execPath}" -e '${hold}'`;
    const child = spawn('sh', ['-c', script], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    await once(child.stdout, 'data');

    const reasons: string[] = [];
    const recorder = recorderOf({ nodeEvent: (_, reason) => void reasons.push(reason) });
    const cgroups = await openCgroups({ cgroupRoot: root, podPidsLimit: 100 }, { recorder });
    await cgroups.setUp({ cpu: '2', memory: '32Mi', pid: '999' });
    expect(reasons).toEqual(['FailedNodeAllocatableEnforcement']);
    expect([read('cpu', 'cpu.shares'), read('pids', 'pids.max')]).toEqual(['2048', '999']);

    child.kill('SIGKILL');
    await once(child, 'exit');
    await cgroups.updateQoS([]);
    expect(read('memory', 'memory.limit_in_bytes')).toBe(String(32 * 2 ** 20));
    expect(reasons).toEqual(['FailedNodeAllocatableEnforcement', 'NodeAllocatableEnforced']);
  });

  test('a limit of a pod waits until a container below has given back what the limit takes, and nothing fails', async () => {
    const cgroups = await open();
    const [large, small] = ['2', '1'].map((cpu) => podOf('p', {}, { cpu, memory: '32Mi' }));
    await cgroups.ensurePod(large!);
    const group = ['kubepods', 'burstable', 'podp'];
    const container = file('cpu', ...group, 'c');
    mkdirSync(container);
    writeFileSync(join(container, 'cpu.cfs_quota_us'), '200000');
    await cgroups.ensurePod(small!);
    const values = () =>
      ['cpu.cfs_quota_us', 'cpu.shares'].map((name) => read('cpu', ...group.slice(1), name));
    expect(values()).toEqual(['200000', '2']);
    writeFileSync(join(container, 'cpu.cfs_quota_us'), '100000');
    await cgroups.ensurePod(small!);
    expect(values()).toEqual(['100000', '2']);
  });

  test('if no process IDs are reserved, kubepods has the limit of the node', async () => {
    const cgroups = await openCgroups({ cgroupRoot: root });
    await cgroups.setUp({ pid: '4321' });
    expect(read('pids', 'pids.max')).toBe('4321');
  });

  test('every hierarchy has the cgroups above the pods, with their CPU shares', async () => {
    const cgroups = await open();
    await cgroups.updateQoS([podOf('b', { cpu: '250m' })]);
    expect(cgroups.version).toBe(1);
    for (const { mountPoint } of withControllers) {
      expect(readdirSync(join(mountPoint, root, 'kubepods'))).toEqual(
        expect.arrayContaining(['besteffort', 'burstable']),
      );
    }
    expect(read('cpu', 'besteffort/cpu.shares')).toBe('2');
    expect(read('cpu', 'burstable/cpu.shares')).toBe('256');
  });

  test('the kernel accepts the limits of a pod', async () => {
    const cgroups = await open();
    const full = { cpu: '500m', memory: '100Mi' };
    await cgroups.ensurePod(podOf('g', full, full));
    expect(read('cpu', 'podg/cpu.shares')).toBe('512');
    expect(read('memory', 'podg/memory.limit_in_bytes')).toBe('104857600');
    expect(read('pids', 'podg/pids.max')).toBe('100');
    if (!existsSync(file('cpu', 'kubepods/cpu.cfs_quota_us'))) return;
    expect(read('cpu', 'podg/cpu.cfs_quota_us')).toBe('50000');
  });

  test('a process can join the cgroup of a pod at once, in every hierarchy', async () => {
    const cgroups = await open();
    await cgroups.ensurePod(podOf('e'));
    const { pid } = sleeper();
    for (const { mountPoint } of withControllers) {
      const procs = join(mountPoint, root, 'kubepods/besteffort/pode/cgroup.procs');
      writeFileSync(procs, String(pid));
      expect(readFileSync(procs, 'utf8').trim()).toBe(String(pid));
    }
    await cgroups.removePod('e');
  });

  test('removing a pod kills its processes and removes the cgroups of its containers', async () => {
    const before = await open();
    await before.ensurePod(podOf('b', { cpu: '1' }));
    const first = sleeper();
    const second = sleeper();
    for (const controller of ['memory', 'pids']) {
      const container = file(controller, 'kubepods/burstable/podb/container');
      mkdirSync(join(container, 'below'), { recursive: true });
      writeFileSync(join(container, 'cgroup.procs'), String(first.pid));
      writeFileSync(join(container, 'below/cgroup.procs'), String(second.pid));
    }
    const cgroups = await open();
    expect(await cgroups.podsOnDisk(true)).toEqual(['b']);
    await cgroups.removePod('b');
    await Promise.all([first.ended, second.ended]);
    expect(await cgroups.podsOnDisk(true)).toEqual([]);
  });

  test('the processes of a pod are ended, and its cgroup stays', async () => {
    const cgroups = await open();
    await cgroups.ensurePod(podOf('b', { cpu: '1' }));
    const [first, second] = [sleeper(), sleeper()];
    const container = file('pids', 'kubepods/burstable/podb/container');
    mkdirSync(container);
    writeFileSync(join(container, 'cgroup.procs'), String(first.pid));
    writeFileSync(file('memory', 'kubepods/burstable/podb/cgroup.procs'), String(second.pid));
    await cgroups.endProcesses('b');
    await Promise.all([first.ended, second.ended]);
    expect(await cgroups.podsOnDisk(true)).toEqual(['b']);
    await cgroups.endProcesses('unknown');
  });

  test('short searches, one for each hierarchy, find a pod that is in one of them alone', async () => {
    const cgroups = await open();
    mkdirSync(file('pids', 'kubepods/besteffort/podlost'), { recursive: true });
    const found: string[] = [];
    const searches = hierarchies.length;
    for (let search = 0; search < searches; search++) found.push(...(await cgroups.podsOnDisk(false)));
    expect(found).toEqual(['lost']);
  });

  test('cgroups that a runtime made in hierarchies without controllers are removed as well', async () => {
    const cgroups = await open();
    const others = hierarchies.filter(({ controllers }) => controllers.length === 0);
    const folders = others.map(({ mountPoint }) => join(mountPoint, root, 'kubepods/burstable/podb/c'));
    for (const folder of folders) mkdirSync(folder, { recursive: true });
    await cgroups.removePod('b');
    for (const folder of folders) expect(existsSync(join(folder, '..'))).toBe(false);
  });

  test('a pod that is missing in some hierarchies is still found, and is created again in all of them', async () => {
    const cgroups = await open();
    await cgroups.ensurePod(podOf('b', { cpu: '1' }));
    rmdirSync(file('memory', 'kubepods/burstable/podb'));
    expect(await cgroups.podsOnDisk(true)).toEqual(['b']);
    await cgroups.ensurePod(podOf('b', { cpu: '1' }));
    expect(existsSync(file('memory', 'kubepods/burstable/podb'))).toBe(true);
  });
});

const UNIFIED = '/sys/fs/cgroup/unified';
const hasV2 = isUsable && hierarchies.some(({ mountPoint }) => mountPoint === UNIFIED);

(hasV2 ? test : test.skip)('a cgroup of v2 is killed and removed with all cgroups below it', async () => {
  const group = `${UNIFIED}/statelet-test-${process.pid}`;
  mkdirSync(join(group, 'container/below'), { recursive: true });
  const { pid, ended } = sleeper();
  writeFileSync(join(group, 'container/below/cgroup.procs'), String(pid));
  await removeCgroups([group]);
  await ended;
  expect(existsSync(group)).toBe(false);
});
