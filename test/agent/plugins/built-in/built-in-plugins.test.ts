/** The plugins on files laid out as /proc and cgroups. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { rmSync } from 'node:fs';
import { RECLAIMED_MILLICPU } from '../../../../src/agent/policies/eviction-plugins/built-in/built-in-pods.ts';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import type { QosLevel } from '../../../../src/agent/policies/eviction-plugins/qos-level.ts';
import type { BuiltInSettings } from '../../../../src/types/built-in-thresholds.ts';
import type { StatsProvider, SummaryOptions } from '../../../../src/agent/runtime/stats/stats-provider.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { BUILT_IN_NAMES } from '../../../../src/agent/plugins/built-in/built-in-plugins.ts';
import { container, MIB, SANDBOX, StatsBed } from '../../runtime/stats/stats-bed.ts';
import { numaStatV1, twoNumaNodes } from '../../../support/numa-machine.ts';
import { qosPod } from '../../../support/qos-pod.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { namesOf, NUMA, PluginBed, RECLAIMED, RSS, SYSTEM } from './plugin-bed.ts';

const batch = qosPod('batch', { level: 'reclaimed_cores', requests: { [RECLAIMED_MILLICPU]: '1k' } });
const sweep = qosPod('sweep', { level: 'reclaimed_cores' });
const web = qosPod('web', { requests: { memory: '100Mi' } });
const pods = [web, batch, sweep];

let stats: StatsBed;
beforeEach(() => {
  stats = new StatsBed();
  stats.cgroups.mountV1('memory');
  stats.meminfo({ MemTotal: 1000 * MIB, MemFree: 500 * MIB });
});
afterEach(() => stats.cleanUp());

function open(parts: Partial<ConstructorParameters<typeof PluginBed>[0]> = {}): PluginBed {
  const provider = stats.open();
  return new PluginBed({ stats: () => Promise.resolve(provider), clock: stats.clock, ...parts });
}

/** The rest is that of the provider. */
function withSummary(provider: StatsProvider, summary: StatsProvider['summary']) {
  const { nodeMemory } = provider;
  return {
    summary,
    nodeMemory,
    nodeCpu: () => provider.nodeCpu(),
    networkLinks: () => provider.networkLinks(),
  };
}

/** It runs, and its cgroup counts so much memory of programs, and of files. */
function runs({ metadata: { uid, name, namespace } }: Pod, rssBytes: number, cacheBytes = 0): void {
  stats.pods.push({ ...runtimePodStatus({ sandboxes: [SANDBOX] }), uid, name, namespace });
  const folder = `memory/kubepods/besteffort/pod${uid}`;
  stats.write(`${folder}/memory.usage_in_bytes`, `${rssBytes + cacheBytes}\n`);
  stats.figures(`${folder}/memory.stat`, { total_rss: rssBytes, total_inactive_file: cacheBytes });
}

test('there is each plugin that the settings name', () => {
  const names = (innerPlugins: readonly string[]) => open({ innerPlugins }).plugins.map(({ name }) => name);
  expect(names(['*'])).toEqual(BUILT_IN_NAMES);
  expect(names([RSS])).toEqual([RSS]);
  expect(names(['*', `-${NUMA}`])).toEqual(BUILT_IN_NAMES.filter((name) => name !== NUMA));
  expect(names([])).toEqual([]);
});

describe('NUMA memory', () => {
  const PAGES = 100_000;
  const hold = (pod: Pod, ...pages: number[]) =>
    stats.write(
      `memory/kubepods/besteffort/pod${pod.metadata.uid}/memory.numa_stat`,
      numaStatV1([0, 0], pages),
    );

  test('the pod goes that has most memory on the node that lacks it', async () => {
    stats.write('proc/zoneinfo', twoNumaNodes([{ free: 9_000_000 }, { free: 20_000 }]));
    hold(batch, 9 * PAGES, PAGES);
    hold(sweep, 0, 2 * PAGES);
    hold(web, 0, 9 * PAGES);
    const bed = open();
    expect(await bed.thresholdMet(NUMA, pods)).toMatchObject({
      metType: 'HARD_MET',
      scope: 'NumaMemory',
      observedValue: 20_000 * 4096,
      thresholdValue: 25_600 * 4096,
    });
    expect(await bed.getTopEvictionPods(NUMA, pods, 'NumaMemory')).toEqual({
      targetPods: [{ namespace: 'default', name: 'sweep', uid: 'uid-sweep', nodeName: 'node' }],
      gracePeriodSeconds: 1,
    });
  });

  test('any pod goes if that lasts, in its own time; the next node is asked for the rest', async () => {
    stats.write('proc/zoneinfo', twoNumaNodes([{ free: 10_000 }, { free: 20_000 }]));
    hold(web, 9 * PAGES, 0);
    hold(sweep, 0, PAGES);
    const bed = open();
    await bed.thresholdMet(NUMA, pods);
    await bed.thresholdMet(NUMA, pods);
    const top = async (topN: number) => {
      const { targetPods, ...rest } = await bed.getTopEvictionPods(NUMA, pods, 'NumaMemory', topN);
      return [namesOf(targetPods), rest];
    };
    expect(await top(1)).toEqual([['web'], {}]);
    expect(await top(2)).toEqual([['web', 'sweep'], {}]);
  });

  test('a pod that has memory on two such nodes counts once', async () => {
    stats.write('proc/zoneinfo', twoNumaNodes([{ free: 10_000 }, { free: 20_000 }]));
    hold(batch, 9 * PAGES, 9 * PAGES);
    hold(sweep, 0, PAGES);
    const bed = open();
    await bed.thresholdMet(NUMA, pods);
    const { targetPods } = await bed.getTopEvictionPods(NUMA, pods, 'NumaMemory', 2);
    expect(namesOf(targetPods)).toEqual(['batch', 'sweep']);
  });

  test('a node from which no pod can go does not change how long others have', async () => {
    stats.write('proc/zoneinfo', twoNumaNodes([{ free: 10_000 }, { free: 9_000_000 }]));
    hold(sweep, 0, PAGES);
    const bed = open();
    await bed.thresholdMet(NUMA, pods);
    stats.write('proc/zoneinfo', twoNumaNodes([{ free: 10_000 }, { free: 20_000 }]));
    await bed.thresholdMet(NUMA, pods);
    expect(await bed.getTopEvictionPods(NUMA, pods, 'NumaMemory')).toMatchObject({
      targetPods: [{ name: 'sweep' }],
      gracePeriodSeconds: 1,
    });
  });

  test('a pod with less than a thousandth of the node stays', async () => {
    stats.write('proc/zoneinfo', twoNumaNodes([{ free: 9_000_000 }, { free: 20_000 }]));
    hold(batch, 9 * PAGES, 33_000);
    const bed = open();
    await bed.thresholdMet(NUMA, pods);
    expect(await bed.getTopEvictionPods(NUMA, pods, 'NumaMemory')).toEqual({ targetPods: [] });
    hold(batch, 9 * PAGES, 34_000);
    expect(namesOf((await bed.getTopEvictionPods(NUMA, pods, 'NumaMemory')).targetPods)).toEqual(['batch']);
  });

  test('no pod goes where all nodes have memory', async () => {
    stats.write('proc/zoneinfo', twoNumaNodes([{ free: 9_000_000 }, { free: 9_000_000 }]));
    hold(batch, PAGES, PAGES);
    const bed = open();
    expect((await bed.thresholdMet(NUMA, pods)).metType).toBe('NOT_MET');
    expect(await bed.getTopEvictionPods(NUMA, pods, 'NumaMemory')).toEqual({ targetPods: [] });
    expect(bed.said).toEqual([]);
  });

  test('it logs once why it has no answer', async () => {
    const bed = open();
    expect((await bed.thresholdMet(NUMA, pods)).metType).toBe('NOT_MET');
    expect((await bed.thresholdMet(NUMA, pods)).metType).toBe('NOT_MET');
    expect(bed.said).toEqual([`${NUMA}: /proc/zoneinfo of this kernel has no NUMA nodes`]);
    stats.write('proc/zoneinfo', twoNumaNodes([{}, {}]).split(/(?=Node 1)/)[0] ?? '');
    await bed.thresholdMet(NUMA, pods);
    expect(bed.said[1]).toMatch(/one NUMA node/);
    stats.write('proc/zoneinfo', twoNumaNodes([{ free: 0 }, { free: 0 }]));
    expect((await bed.thresholdMet(NUMA, pods)).metType).toBe('HARD_MET');
    expect(await bed.getTopEvictionPods(NUMA, pods, 'NumaMemory')).toEqual({ targetPods: [] });
    expect(bed.said.slice(2)).toEqual([expect.stringMatching(/no cgroup shows/)]);
  });
});

describe('system memory', () => {
  const little = () => {
    stats.meminfo({ MemTotal: 1000 * MIB, MemFree: 0 });
    stats.write('proc/sys/vm/watermark_scale_factor', '10\n');
  };

  test('the reclaimed pod with most memory goes, and the node takes no more pods', async () => {
    runs(web, 90 * MIB);
    runs(batch, 20 * MIB);
    runs(sweep, 10 * MIB, 20 * MIB);
    little();
    const bed = open();
    expect(await bed.thresholdMet(SYSTEM, pods)).toMatchObject({
      metType: 'HARD_MET',
      scope: 'SystemMemory',
      observedValue: 0,
      thresholdValue: MIB,
      condition: { name: 'MemoryPressure', type: 'NODE_CONDITION', effects: ['NoSchedule'], met: true },
    });
    const { targetPods, gracePeriodSeconds } = await bed.getTopEvictionPods(SYSTEM, pods, 'SystemMemory');
    expect([namesOf(targetPods), gracePeriodSeconds]).toEqual([['sweep'], 1]);
  });

  test('then no other is named for 35 seconds', async () => {
    runs(batch, MIB);
    little();
    const bed = open();
    const named = async () => {
      await bed.thresholdMet(SYSTEM, pods);
      return (await bed.getTopEvictionPods(SYSTEM, pods, 'SystemMemory')).targetPods.length;
    };
    expect(await named()).toBe(1);
    await stats.clock.advance(34_999);
    expect(await named()).toBe(0);
    await stats.clock.advance(1);
    expect(await named()).toBe(1);
  });

  test('nor is a clock that was set back waited for', async () => {
    runs(batch, MIB);
    little();
    let nowMs = 1e9;
    const bed = open({ clock: { now: () => nowMs } });
    for (const now of [1e9, 1e6]) {
      nowMs = now;
      await bed.thresholdMet(SYSTEM, [batch]);
      const { targetPods } = await bed.getTopEvictionPods(SYSTEM, [batch], 'SystemMemory');
      expect(namesOf(targetPods)).toEqual(['batch']);
    }
  });

  test('what kswapd takes back is counted from question to question', async () => {
    runs(web, MIB);
    const bed = open();
    const met: string[] = [];
    for (const pages of [0, 200_000, 400_000]) {
      stats.figures('proc/vmstat', { pgsteal_kswapd: pages });
      met.push((await bed.thresholdMet(SYSTEM, [web])).metType);
      await stats.clock.advance(60_000);
    }
    expect(met).toEqual(['NOT_MET', 'NOT_MET', 'HARD_MET']);
    expect(await bed.getTopEvictionPods(SYSTEM, [web], 'SystemMemory')).toMatchObject({
      targetPods: [{ name: 'web' }],
    });
  });

  test('how long pods wait is read once the machine waits', async () => {
    let read = 0;
    const provider = stats.open();
    const summary = (options?: SummaryOptions) => {
      read += 1;
      return provider.summary(options);
    };
    const bed = open({ stats: () => Promise.resolve(withSummary(provider, summary)) });
    await bed.thresholdMet(SYSTEM, pods);
    expect(read).toBe(0);
    const line = (kind: string) => `${kind} avg10=20.00 avg60=0.00 avg300=0.00 total=1\n`;
    stats.write('proc/pressure/memory', line('some') + line('full'));
    const met: string[] = [];
    for (const afterMs of [15_000, 1]) {
      met.push((await bed.thresholdMet(SYSTEM, pods)).metType);
      await stats.clock.advance(afterMs);
    }
    expect(met).toEqual(['NOT_MET', 'HARD_MET']);
    expect(read).toBe(2);
  });

  test('of pods whose waiting cgroup v2 counts, three that are not reclaimed have to wait', async () => {
    stats.write('mountinfo', '');
    stats.cgroups.mountV2('memory');
    const line = (kind: string) => `${kind} avg10=20.00 avg60=0.00 avg300=0.00 total=1\n`;
    const waiting = line('some') + line('full');
    stats.write('proc/pressure/memory', waiting);
    const met = async (level: QosLevel) => {
      const waiters = ['a', 'b', 'c'].map((name) => qosPod(`${level}-${name}`, { level }));
      for (const pod of waiters) {
        runs(pod, MIB);
        const folder = `v2/kubepods/besteffort/pod${pod.metadata.uid}`;
        stats.write(`${folder}/memory.current`, `${MIB}\n`);
        stats.figures(`${folder}/memory.stat`, { anon: MIB });
        stats.write(`${folder}/memory.pressure`, waiting);
      }
      const bed = open();
      await bed.thresholdMet(SYSTEM, waiters);
      await stats.clock.advance(15_000);
      return (await bed.thresholdMet(SYSTEM, waiters)).metType;
    };
    expect(await met('shared_cores')).toBe('HARD_MET');
    expect(await met('reclaimed_cores')).toBe('NOT_MET');
  });

  test('without /proc/meminfo it has nothing to say', async () => {
    rmSync(stats.cgroups.path('proc/meminfo'));
    const bed = open();
    expect((await bed.thresholdMet(SYSTEM, pods)).metType).toBe('NOT_MET');
    expect(bed.said).toEqual([expect.stringContaining('/proc/meminfo')]);
  });
});

describe('reclaimed resources', () => {
  /** So that the node can give 100. */
  const allocatable = { cpu: '112m' };

  test('the reclaimed pod goes that requests most', async () => {
    const bed = open({ allocatable });
    expect(await bed.thresholdMet(RECLAIMED, pods)).toMatchObject({
      metType: 'HARD_MET',
      scope: RECLAIMED_MILLICPU,
      thresholdValue: 500,
      observedValue: 1000,
    });
    const { targetPods, gracePeriodSeconds } = await bed.getTopEvictionPods(
      RECLAIMED,
      pods,
      RECLAIMED_MILLICPU,
    );
    expect([namesOf(targetPods), gracePeriodSeconds]).toEqual([['batch'], 60]);
  });

  test('with a number of zero, pods are named that ask for notices', async () => {
    const notify = { 'katalyst.kubewharf.io/pod_soft_evict_notify': 'true' };
    const requests = { [RECLAIMED_MILLICPU]: '200' };
    const told = qosPod('told', { level: 'reclaimed_cores', requests, annotations: notify });
    const bed = open({ allocatable });
    expect((await bed.thresholdMet(RECLAIMED, [told])).metType).toBe('SOFT_MET');
    const { targetPods } = await bed.getTopEvictionPods(RECLAIMED, [told, sweep], RECLAIMED_MILLICPU, 0);
    expect(namesOf(targetPods)).toEqual(['told']);
  });

  test('what the node can give comes from what it has, and what others use', async () => {
    expect((await open().thresholdMet(RECLAIMED, pods)).metType).toBe('NOT_MET');
    const greedy = qosPod('greedy', {
      level: 'reclaimed_cores',
      requests: { [RECLAIMED_MILLICPU]: '18001' },
    });
    expect(await open().thresholdMet(RECLAIMED, [greedy])).toMatchObject({
      metType: 'HARD_MET',
      thresholdValue: 5 * 3600,
    });
  });
});

describe('resident memory', () => {
  const thresholds = { rssOveruse: { ...DEFAULT_BUILT_IN_SETTINGS.rssOveruse, allPods: true } };

  test('a pod that has too much is a candidate', async () => {
    runs(web, 106 * MIB);
    expect(await open({ thresholds }).getEvictPods(RSS, pods)).toEqual({
      evictPods: [
        {
          pod: { namespace: 'default', name: 'web', uid: 'uid-web', nodeName: 'node' },
          reason: 'its resident memory of 106Mi is more than 1.05 times its request of 100Mi',
          forceEvict: false,
        },
      ],
    });
  });

  test('page cache does not count', async () => {
    runs(web, 100 * MIB, 900 * MIB);
    expect(await open({ thresholds }).getEvictPods(RSS, pods)).toEqual({ evictPods: [] });
  });

  test('without cgroups the figures of the runtime count', async () => {
    stats.write('mountinfo', '');
    const memory = { timestamp: 1, workingSetBytes: 0, rssBytes: 106 * MIB };
    const { uid, name, namespace } = web.metadata;
    const status = runtimePodStatus({ sandboxes: [SANDBOX], containers: [container('main')] });
    stats.pods.push({ ...status, uid, name, namespace });
    const attributes = { id: 'main', metadata: { name: 'main', attempt: 0 }, labels: {} };
    stats.containerStats = [{ attributes, memory }];
    expect((await open({ thresholds }).getEvictPods(RSS, pods)).evictPods).toHaveLength(1);
  });

  test('where no pod is measured it has nothing to say', async () => {
    const bed = open({ thresholds });
    expect(await bed.getEvictPods(RSS, pods)).toEqual({ evictPods: [] });
    expect(await bed.getEvictPods(RSS, pods)).toEqual({ evictPods: [] });
    expect(bed.said).toEqual([`${RSS}: it is not known how much resident memory pods have`]);
  });
});

describe('figures that cannot be read', () => {
  const failing = () => open({ stats: () => Promise.reject(new Error('no such runtime')) });

  test('are no reason to fail: each plugin has no answer, and logs that once', async () => {
    const bed = failing();
    for (const name of [RECLAIMED, NUMA, SYSTEM, RSS]) {
      expect((await bed.thresholdMet(name, pods)).metType).toBe('NOT_MET');
      expect((await bed.thresholdMet(name, pods)).metType).toBe('NOT_MET');
    }
    const because = 'its figures cannot be read: no such runtime';
    expect(bed.said).toEqual([RECLAIMED, NUMA, SYSTEM].map((name) => `${name}: ${because}`));
  });

  test('are not read where no pod is reclaimed', async () => {
    const bed = failing();
    expect((await bed.thresholdMet(RECLAIMED, [web])).metType).toBe('NOT_MET');
    expect(bed.said).toEqual([]);
  });

  test('an answer that is not awaited any more rejects', async () => {
    const bed = failing();
    bed.signal.abort(new Error('too late'));
    await expect(bed.thresholdMet(SYSTEM, pods)).rejects.toThrow();
    expect(bed.said).toEqual([]);
  });
});

test('all plugins that are asked about the same pods share one reading', async () => {
  let read = 0;
  const provider = stats.open();
  const summary = (options?: SummaryOptions) => {
    read += 1;
    return provider.summary(options);
  };
  const thresholds = { rssOveruse: { ...DEFAULT_BUILT_IN_SETTINGS.rssOveruse, allPods: true } };
  const bed = open({
    thresholds,
    stats: () => Promise.resolve(withSummary(provider, summary)),
  });
  const question = { activePods: { pods }, signal: bed.signal.signal };
  await Promise.all(
    bed.plugins.flatMap((plugin) => [plugin.thresholdMet(question), plugin.getEvictPods(question)]),
  );
  expect(read).toBe(1);
});

describe('plugins that are not enabled by default', () => {
  const DEFAULTS = DEFAULT_BUILT_IN_SETTINGS;
  const ENABLED: Partial<BuiltInSettings> = {
    rootfsPressure: {
      ...DEFAULTS.rootfsPressure,
      isEnabled: true,
      minimumFree: '50%',
      minimumCapacityBytes: 0,
    },
    rootfsOveruse: { ...DEFAULTS.rootfsOveruse, isEnabled: true, sharedThreshold: '50%' },
    nicHealth: { ...DEFAULTS.nicHealth, isEnabled: true, toleranceMs: 0 },
    cpuLoad: { ...DEFAULTS.cpuLoad, isEnabled: true, ringSize: 1 },
    cpuSuppression: { ...DEFAULTS.cpuSuppression, isEnabled: true, minToleranceMs: 0 },
    numaCpu: { ...DEFAULTS.numaCpu, isEnabled: true, ringSize: 1 },
    numaSysCpu: { ...DEFAULTS.numaSysCpu, isEnabled: true, ringSize: 1 },
  };
  const LOAD = 'cpu-pressure-load-plugin';

  /** Everything would be met, if it were read. */
  function pressed(): void {
    stats.write('proc/loadavg', '99.00 1.00 0.50 3/900 4711\n');
    stats.write('proc/stat', 'cpu0 1 0 0 1 0 0 0 0 0 0\n');
    stats.write('sys/devices/system/node/node0/cpulist', '0\n');
  }

  test('read nothing and name no pod until they are', async () => {
    pressed();
    const asked: string[] = [];
    const provider = stats.open();
    const counting = {
      ...withSummary(provider, (options) => {
        asked.push('summary');
        return provider.summary(options);
      }),
      nodeCpu: () => {
        asked.push('cpu');
        return provider.nodeCpu();
      },
      networkLinks: () => {
        asked.push('links');
        return provider.networkLinks();
      },
    };
    let thresholds: Partial<BuiltInSettings> = {};
    const bed = open({ stats: () => Promise.resolve(counting), thresholds: () => thresholds });
    const met = async () => {
      const question = { activePods: { pods: [web] }, signal: bed.signal.signal };
      const answers = await Promise.all(
        bed.plugins.map(async (plugin) => {
          await plugin.getEvictPods(question);
          return [plugin.name, (await plugin.thresholdMet(question)).metType] as const;
        }),
      );
      return answers.filter(([, metType]) => metType !== 'NOT_MET').map(([name]) => name);
    };
    expect(await met()).toEqual([]);
    expect(asked).toEqual([]);
    thresholds = ENABLED;
    expect(await met()).toEqual([LOAD]);
    // Each figure once, however many plugins need it: the file system, pods with disks, load and NUMA nodes.
    expect(asked.sort()).toEqual(['cpu', 'links', 'summary', 'summary']);
    thresholds = {};
    expect(await met()).toEqual([]);
  });

  test('load costs the pod that uses most processor time', async () => {
    pressed();
    runs(web, MIB);
    const bed = open({ thresholds: ENABLED });
    expect(await bed.thresholdMet(LOAD, [web])).toMatchObject({ metType: 'HARD_MET', observedValue: 99 });
    expect(
      namesOf((await bed.getTopEvictionPods(LOAD, [web], 'cpu.load.1min.container')).targetPods),
    ).toEqual(['web']);
    expect((await bed.getTopEvictionPods(LOAD, [web], 'cpu.load.1min.container', 0)).targetPods).toEqual([]);
  });

  test('a lost link makes the node less wanted', async () => {
    const NIC = 'network-eviction-plugin';
    stats.write('sys/class/net/eth0/device/vendor', '1\n');
    stats.write('sys/class/net/eth0/operstate', 'up\n');
    const bed = open({ thresholds: ENABLED });
    expect((await bed.getEvictPods(NIC, [web])).condition).toBeUndefined();
    stats.write('sys/class/net/eth0/operstate', 'down\n');
    expect((await bed.getEvictPods(NIC, [web])).condition?.name).toBe('NICUnhealthy');
  });

  test('a reclaimed pod that gets too little processor time is a candidate', async () => {
    const SUPPRESSION = 'cpu-pressure-suppression-plugin';
    const bed = open({ thresholds: ENABLED, allocatable: { cpu: '100m' } });
    expect((await bed.getEvictPods(SUPPRESSION, pods)).evictPods).toEqual([]);
    await stats.clock.advance(1);
    expect((await bed.getEvictPods(SUPPRESSION, pods)).evictPods).toMatchObject([{ pod: { name: 'batch' } }]);
  });

  test('a busy NUMA node costs a pod that is bound to it', async () => {
    const NUMA_CPU = 'numa-cpu-pressure-plugin';
    pressed();
    runs(web, MIB);
    const usage = (nanos: number) =>
      stats.write('cpuacct/kubepods/besteffort/poduid-web/cpuacct.usage', `${nanos}\n`);
    stats.cgroups.mountV1('memory', 'cpuacct');
    usage(0);
    const bed = open({ thresholds: ENABLED });
    await bed.thresholdMet(NUMA_CPU, [web]);
    await bed.getTopEvictionPods(LOAD, [web], 'any');
    await stats.clock.advance(15_000);
    stats.write('proc/stat', 'cpu0 101 0 0 1 0 0 0 0 0 0\n');
    usage(15e9);
    expect(await bed.thresholdMet(NUMA_CPU, [web])).toMatchObject({
      metType: 'HARD_MET',
      observedValue: 1,
      condition: { name: 'NumaCPUPressure' },
    });
    const { targetPods } = await bed.getTopEvictionPods(NUMA_CPU, [web], 'cpu.usage.container');
    expect(namesOf(targetPods)).toEqual(['web']);
  });

  test('a full file system costs the pod that has written most, and one that writes too much is a candidate', async () => {
    const layer = (usedBytes: number) => ({
      timestamp: 1,
      mountpoint: stats.cgroups.path('root'),
      usedBytes,
      inodesUsed: 1,
    });
    stats.imageFs = [layer(1)];
    const ofPod = (pod: Pod, usedBytes: number) => {
      const { uid, name, namespace } = pod.metadata;
      const status = runtimePodStatus({
        sandboxes: [SANDBOX],
        containers: [{ ...container('main'), id: name }],
      });
      stats.pods.push({ ...status, uid, name, namespace });
      const attributes = { id: name, metadata: { name: 'main', attempt: 0 }, labels: {} };
      stats.containerStats.push({ attributes, writableLayer: layer(usedBytes) });
    };
    ofPod(web, 9e15);
    ofPod(batch, 1);
    const full = {
      ...DEFAULTS.rootfsPressure,
      isEnabled: true,
      minimumFree: '100%',
      minimumCapacityBytes: 0,
    };
    const bed = open({ thresholds: { ...ENABLED, rootfsPressure: full } });
    const PRESSURE = 'rootfs-pressure-eviction-plugin';
    expect(await bed.thresholdMet(PRESSURE, pods)).toMatchObject({
      metType: 'HARD_MET',
      scope: 'SystemRootfs',
    });
    const { targetPods } = await bed.getTopEvictionPods(PRESSURE, pods, 'SystemRootfs', 2);
    expect(namesOf(targetPods)).toEqual(['web', 'batch']);
    expect((await bed.getEvictPods('rootfs-overuse-eviction-plugin', pods)).evictPods).toMatchObject([
      { pod: { name: 'web' }, forceEvict: false },
    ]);
  });

  test('reclaimed pods that are bound to a NUMA node may not request far more than it can give', async () => {
    const NUMA_RECLAIMED = 'reclaimed-numa-resource-pressure-eviction-plugin';
    pressed();
    const annotations = { 'katalyst.kubewharf.io/numa_bind_result': '0' };
    const requests = { [RECLAIMED_MILLICPU]: '99k' };
    const bound = qosPod('bound', { level: 'reclaimed_cores', requests, annotations });
    const bed = open();
    expect((await bed.thresholdMet(NUMA_RECLAIMED, [bound])).metType).toBe('NOT_MET');
    stats.write('proc/stat', 'cpu0 1 0 0 101 0 0 0 0 0 0\n');
    const scope = `zone0|${RECLAIMED_MILLICPU}`;
    expect(await bed.thresholdMet(NUMA_RECLAIMED, [bound])).toMatchObject({
      metType: 'HARD_MET',
      scope,
      thresholdValue: 5 * 3600,
    });
    expect(namesOf((await bed.getTopEvictionPods(NUMA_RECLAIMED, [bound, batch], scope)).targetPods)).toEqual(
      ['bound'],
    );
  });
});
