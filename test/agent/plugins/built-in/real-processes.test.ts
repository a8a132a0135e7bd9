/** The plugins on this machine and its processes. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findCgroupMounts } from '../../../../src/agent/policies/cgroups/cgroup-mounts.ts';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import { removeCgroups } from '../../../../src/agent/runtime/cgroups/cgroup-removal.ts';
import { openStatsProvider } from '../../../../src/agent/runtime/stats/kernel-stats.ts';
import type { StatsProvider } from '../../../../src/agent/runtime/stats/stats-provider.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import { type ContainerStats } from '../../../../src/types/cri.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../../src/types/runtime-pod.ts';
import { openCgroups } from '../../runtime/cgroups/cgroup-bed.ts';
import { childProcesses } from '../../../support/child-processes.ts';
import { qosPod } from '../../../support/qos-pod.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { namesOf, PluginBed, RSS, SYSTEM } from './plugin-bed.ts';
import { testContext } from '../../../support/test-context.ts';

const { version, hierarchies } = findCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
const isUsable = process.getuid?.() === 0 && version === 1;
if (!isUsable) process.stderr.write('SKIPPED: tests of cgroup v1 need root, and a machine with cgroup v1\n');

const MIB = 2 ** 20;
/** Holds 64 MiB, which it has filled. */
const HOLD = `node -e 'globalThis.held = Buffer.alloc(64 * 2 ** 20, 1); console.log("held"); setInterval(() => 0, 1e6)'`;
const greedy = qosPod('greedy', { level: 'reclaimed_cores', requests: { memory: '8Mi' } });
const modest = qosPod('modest', { level: 'reclaimed_cores', requests: { memory: '8Mi' } });

(isUsable ? describe : describe.skip)('pods with cgroups of this machine', () => {
  const root = `/statelet-plugins-test-${process.pid}`;
  const mountOf = (controller: string): string =>
    hierarchies.find(({ controllers }) => controllers.includes(controller))?.mountPoint ?? '/none';
  const children = childProcesses();
  let stats: StatsProvider;

  beforeEach(async () => {
    for (const controller of ['cpu', 'memory', 'pids']) mkdirSync(join(mountOf(controller), root));
    const cgroups = await openCgroups({ cgroupRoot: root });
    await cgroups.setUp();
    for (const pod of [greedy, modest]) await cgroups.ensurePod(pod);
    stats = openStats([greedy, modest].map(statusOf), root);
  });
  afterEach(async () => {
    await children.end();
    await stats.close();
    await removeCgroups(hierarchies.map(({ mountPoint }) => join(mountPoint, root)));
  });

  /** A process that joins the pod's cgroup before it fills its memory. */
  async function fill({ metadata }: Pod): Promise<void> {
    const procs = join(mountOf('memory'), root, 'kubepods/burstable', `pod${metadata.uid}`, 'cgroup.procs');
    await children.startShell(`echo $$ > ${procs}; exec ${HOLD}`);
  }

  test('the one whose process holds more memory than the pod requests is named', async () => {
    await fill(greedy);
    const thresholds = { rssOveruse: { ...DEFAULT_BUILT_IN_SETTINGS.rssOveruse, allPods: true } };
    const bed = new PluginBed({ stats: () => Promise.resolve(stats), clock: systemClock, thresholds });
    // The kernel adds up the counters of its CPUs at intervals.
    const [candidate] = await waitFor(
      async () => {
        const { evictPods } = await bed.getEvictPods(RSS, [modest, greedy]);
        return evictPods.length > 0 && evictPods;
      },
      { what: 'the pod to be named' },
    );
    expect(candidate).toMatchObject({ pod: { name: 'greedy' }, forceEvict: false });
  });

  test('when the machine is short of memory, the one whose process holds most goes; its memory is found on NUMA nodes', async () => {
    await fill(greedy);
    // More than any machine has: the real figures are always below it.
    const systemMemory = { ...DEFAULT_BUILT_IN_SETTINGS.systemMemory, freeMinimumBytes: Infinity };
    const bed = new PluginBed({
      stats: () => Promise.resolve(stats),
      clock: systemClock,
      thresholds: { systemMemory },
    });
    const held = () => [...(stats.nodeMemory.podsByNumaNode().get(greedy.metadata.uid) ?? [])];
    const bytes = () => held().reduce((sum, [, ofNode]) => sum + ofNode, 0);
    await waitFor(() => bytes() >= 60 * MIB, { what: 'the memory on NUMA nodes' });
    const nodes = stats.nodeMemory.numaNodes().map(({ id }) => id);
    expect(nodes).toEqual(expect.arrayContaining(held().map(([id]) => id)));

    const pods = [modest, greedy];
    expect(await bed.thresholdMet(SYSTEM, pods)).toMatchObject({ metType: 'HARD_MET' });
    const { targetPods } = await bed.getTopEvictionPods(SYSTEM, pods, 'SystemMemory');
    expect(namesOf(targetPods)).toEqual(['greedy']);
  });
});

test('on this machine as it is, no plugin fails', async () => {
  const provider = openStats([], undefined);
  const on = <T extends object>(group: T) => ({ ...group, isEnabled: true });
  const { rootfsPressure, rootfsOveruse, nicHealth, cpuLoad, cpuSuppression, numaCpu } =
    DEFAULT_BUILT_IN_SETTINGS;
  const thresholds = {
    rootfsPressure: { ...on(rootfsPressure), minimumFree: '1', minimumInodesFree: '1' },
    rootfsOveruse: { ...on(rootfsOveruse), qosLevels: ['reclaimed_cores'], reclaimedThreshold: '99%' },
    nicHealth: on(nicHealth),
    cpuLoad: on(cpuLoad),
    cpuSuppression: on(cpuSuppression),
    numaCpu: on(numaCpu),
  };
  const bed = new PluginBed({ stats: () => Promise.resolve(provider), clock: systemClock, thresholds });
  const question = { activePods: { pods: [greedy] }, signal: bed.signal.signal };
  for (const plugin of bed.plugins) {
    expect(['NOT_MET', 'HARD_MET', 'SOFT_MET']).toContain((await plugin.thresholdMet(question)).metType);
    expect(await plugin.getEvictPods(question)).toEqual({ evictPods: [] });
    await plugin.getTopEvictionPods({ ...question, topN: 1, evictionScope: 'any' });
  }
  expect(bed.said.filter((message) => message.includes('cannot be read'))).toEqual([]);
  const cpu = await provider.nodeCpu();
  expect(cpu.load()?.cpus).toBeGreaterThan(0);
});
afterAll(() => Promise.all(opened.map((provider) => provider.close())));

const opened: StatsProvider[] = [];

function openStats(pods: readonly RuntimePodStatus[], cgroupRoot: string | undefined): StatsProvider {
  const provider = openStatsProvider(testContext({ clock: systemClock }), {
    nodeName: 'node',
    rootDir: tmpdir(),
    podLogsDir: tmpdir(),
    cgroupRoot,
    runtime: {
      listContainerStats: () => Promise.resolve<ContainerStats[]>([]),
      imageFsInfo: () => Promise.resolve([]),
    },
    pods: () => pods,
  });
  opened.push(provider);
  return provider;
}

function statusOf({ metadata: { uid, name, namespace } }: Pod): RuntimePodStatus {
  return { ...runtimePodStatus({ sandboxes: [{ id: name }] }), uid, name, namespace };
}
