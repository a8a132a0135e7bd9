import { utimesSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { MIB, NOW, StatsBed } from './stats-bed.ts';

const ONLY = { onlyCPUAndMemory: true };

let bed: StatsBed;
beforeEach(() => {
  bed = new StatsBed();
  bed.cgroups.mountV1('memory', 'cpuacct');
  bed.meminfo({ MemTotal: 1000 * MIB });
});
afterEach(() => bed.cleanUp());

function group(path: string, usedBytes: number, cpuNs: number): void {
  bed.write(`memory${path}/memory.usage_in_bytes`, `${usedBytes}\n`);
  bed.figures(`memory${path}/memory.stat`, { total_rss: usedBytes, total_inactive_file: 0 });
  bed.write(`cpuacct${path}/cpuacct.usage`, `${cpuNs}\n`);
}

const GROUPS = { runtime: '/system.slice/containerd.service', misc: '/system.slice' };
const named = async (name: string, options = {}) =>
  (await bed.open({ systemGroups: GROUPS, ...options }).summary(ONLY)).node.systemContainers?.find(
    (container) => container.name === name,
  );

test('are the pods, the agent, and the groups that are named for the runtime and other daemons', async () => {
  group('/kubepods', 300 * MIB, 5);
  group('/system.slice', 200 * MIB, 4);
  group('/system.slice/containerd.service', 100 * MIB, 3);
  const stats = bed.open({ systemGroups: GROUPS });
  const { systemContainers = [] } = (await stats.summary(ONLY)).node;
  expect(systemContainers.map(({ name }) => name)).toEqual(['pods', 'kubelet', 'runtime', 'misc']);
  expect(systemContainers[2]).toMatchObject({
    memory: { workingSetBytes: 100 * MIB },
    cpu: { usageCoreNanoSeconds: 3 },
  });
  expect(systemContainers[3]).toMatchObject({ memory: { workingSetBytes: 200 * MIB } });
});

test('groups that are not named, or do not exist, are left out', async () => {
  group('/kubepods', 300 * MIB, 5);
  const names = async (systemGroups = GROUPS) =>
    (await bed.open({ systemGroups }).summary(ONLY)).node.systemContainers?.map(({ name }) => name);
  expect(await names()).toEqual(['pods', 'kubelet']);
  expect(await names({ runtime: '', misc: '' })).toEqual(['pods', 'kubelet']);
});

test('a group has the same start time in every summary: the earliest time of its folders', async () => {
  group('/kubepods', 300 * MIB, 5);
  for (const path of ['memory/kubepods', 'cpuacct/kubepods'])
    utimesSync(bed.cgroups.path(path), NOW / 1000, NOW / 1000 - 60);
  utimesSync(bed.cgroups.path('cpuacct/kubepods'), NOW / 1000, NOW / 1000 - 90);
  const stats = bed.open();
  const startTime = async () =>
    (await stats.summary(ONLY)).node.systemContainers?.find(({ name }) => name === 'pods')?.startTime;
  expect(await startTime()).toBe(new Date(NOW - 90_000).toISOString());
  utimesSync(bed.cgroups.path('cpuacct/kubepods'), NOW / 1000, NOW / 1000 - 900);
  expect(await startTime()).toBe(new Date(NOW - 90_000).toISOString());
});

test('the agent is the group that it is in, since its own start', async () => {
  group('/agent', 50 * MIB, 7);
  bed.write('proc/self/cgroup', '4:memory:/agent\n2:cpu,cpuacct:/agent\n0::/elsewhere\n');
  expect(await named('kubelet')).toMatchObject({
    startTime: new Date(performance.timeOrigin).toISOString(),
    memory: { workingSetBytes: 50 * MIB },
    cpu: { usageCoreNanoSeconds: 7 },
  });
});

test.each([
  ['at the top of the tree', '4:memory:/\n2:cpu,cpuacct:/\n'],
  ['in other groups in each hierarchy', '4:memory:/agent\n2:cpu,cpuacct:/\n'],
  ['in a group that cannot be read', '4:memory:/gone\n2:cpu,cpuacct:/gone\n'],
])('the agent is its process where it is %s', async (_where, text) => {
  group('', 900 * MIB, 9);
  group('/agent', 50 * MIB, 7);
  bed.write('proc/self/cgroup', text);
  const kubelet = await named('kubelet');
  expect(kubelet?.memory?.workingSetBytes).toBeGreaterThan(10 * MIB);
  expect(kubelet?.memory?.workingSetBytes).not.toBe(50 * MIB);
  expect(kubelet?.memory?.pageFaults).toBeGreaterThan(0);
  expect(kubelet?.cpu?.usageCoreNanoSeconds).toBeGreaterThan(1_000_000);
});

test('a pass of eviction reads the pods alone', async () => {
  group('/kubepods', 300 * MIB, 5);
  const { node } = await bed.open({ systemGroups: GROUPS }).summary({ ...ONLY, onlyNode: true });
  expect(node.systemContainers?.map(({ name }) => name)).toEqual(['pods']);
});

test('a whole summary has also what they use of swap', async () => {
  group('/kubepods', 300 * MIB, 5);
  group('/system.slice', 200 * MIB, 4);
  bed.meminfo({ MemTotal: 1000 * MIB, SwapTotal: 10 * MIB, SwapFree: 4 * MIB });
  bed.figures('memory/system.slice/memory.stat', { total_rss: 1, total_inactive_file: 0, total_swap: MIB });
  const swapOf = async (options: object) =>
    (await bed.open({ systemGroups: GROUPS }).summary(options)).node.systemContainers?.find(
      ({ name }) => name === 'misc',
    )?.swap;
  expect(await swapOf({})).toMatchObject({ swapUsageBytes: MIB });
  // As with the kubelet.
  expect(await swapOf(ONLY)).toBeUndefined();
});

test('on cgroup v2 they have the pressure of their groups', async () => {
  const v2 = new StatsBed();
  v2.cgroups.mountV2('cpu memory io');
  v2.meminfo({ MemTotal: 1000 * MIB });
  const pressure =
    'some avg10=1.00 avg60=2.00 avg300=3.00 total=4\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n';
  v2.write('v2/kubepods/memory.current', `${MIB}\n`);
  v2.figures('v2/kubepods/memory.stat', { anon: MIB, inactive_file: 0 });
  v2.write('v2/kubepods/cpu.stat', 'usage_usec 7\n');
  for (const resource of ['cpu', 'memory', 'io']) v2.write(`v2/kubepods/${resource}.pressure`, pressure);
  const [pods] = (await v2.open().summary()).node.systemContainers ?? [];
  await v2.cleanUp();
  const psi = { some: { avg10: 1, avg60: 2, avg300: 3, total: 4 } };
  expect(pods).toMatchObject({ name: 'pods', cpu: { psi }, memory: { psi }, io: { psi } });
});
