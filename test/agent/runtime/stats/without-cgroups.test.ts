/** Figures of a machine without cgroups. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { container, MIB, NOW, SANDBOX, StatsBed, TIME } from './stats-bed.ts';

const ONLY = { onlyCPUAndMemory: true };
const NS = 1_000_000;

let bed: StatsBed;
beforeEach(() => {
  bed = new StatsBed();
  bed.write('mountinfo', '');
});
afterEach(() => bed.cleanUp());

test('without cgroups the stats of the node come from /proc', async () => {
  bed.meminfo({
    MemTotal: 1000 * MIB,
    MemFree: 100 * MIB,
    Buffers: 10 * MIB,
    Cached: 190 * MIB,
    SwapCached: 0,
    AnonPages: 400 * MIB,
    'Inactive(file)': 100 * MIB,
  });
  bed.write('proc/stat', 'cpu  100 20 3 5000 70 4 5 6 0 0\ncpu0 1 2 3 4\n');
  const { node } = await bed.summary(ONLY);
  expect(node).toMatchObject({
    memory: {
      time: TIME,
      usageBytes: 600 * MIB,
      workingSetBytes: 500 * MIB,
      rssBytes: 400 * MIB,
      availableBytes: 500 * MIB,
    },
    cpu: { usageCoreNanoSeconds: 132 * 10 * NS },
  });
  expect(node.systemContainers?.map(({ name }) => name)).toEqual(['kubelet']);
  const stats = bed.open();
  expect(stats.memoryAvailable('memory.available')).toEqual({
    availableBytes: 500 * MIB,
    capacityBytes: 1000 * MIB,
  });
  expect(stats.memoryAvailable('allocatableMemory.available')).toBeUndefined();
});

test('a pod without a cgroup has the figures that the runtime reports of its containers', async () => {
  bed.runs({ sandboxes: [SANDBOX], containers: [container('a'), container('b')] });
  bed.containerStats = ['a', 'b'].map((id, index) => ({
    attributes: { id, metadata: { name: id, attempt: 0 }, labels: {} },
    cpu: { timestamp: NOW * NS, usageCoreNanoSeconds: 5 },
    memory: { timestamp: NOW * NS, workingSetBytes: 3 * MIB, rssBytes: 2 * MIB },
    processCount: index + 1,
  }));
  const memory = { time: TIME, workingSetBytes: 3 * MIB, rssBytes: 2 * MIB };
  const cpu = { time: TIME, usageCoreNanoSeconds: 5 };
  expect(await bed.podStats(ONLY)).toEqual({
    podRef: { name: 'pod', namespace: 'ns', uid: 'uid' },
    startTime: TIME,
    memory: { time: TIME, workingSetBytes: 6 * MIB, rssBytes: 4 * MIB },
    cpu: { time: TIME, usageCoreNanoSeconds: 10 },
    process_stats: { process_count: 3 },
    containers: ['a', 'b'].map((name) => ({ name, startTime: TIME, memory, cpu })),
  });
  expect(bed.asked).toEqual(['ListContainerStats']);
});

test('if pods have no cgroups of their own, cgroups of another kubelet are not used for them', async () => {
  bed.cgroups.mountV1('memory');
  bed.figures('memory/memory.stat', { total_rss: MIB });
  bed.figures('memory/kubepods/memory.stat', { total_rss: MIB });
  bed.figures('memory/kubepods/poduid/memory.stat', { total_rss: MIB });
  bed.runs({ sandboxes: [SANDBOX] });
  const stats = bed.open({ cgroupRoot: undefined });
  const { node, pods } = await stats.summary(ONLY);
  expect(node.memory).toMatchObject({ rssBytes: MIB });
  expect(node.systemContainers?.map(({ name }) => name)).toEqual(['kubelet']);
  expect(pods[0]).not.toHaveProperty('memory');
  expect(stats.memoryAvailable('allocatableMemory.available')).toBeUndefined();
});

test('while the runtime does not answer, all other figures are there', async () => {
  bed.runs({ sandboxes: [SANDBOX], containers: [container('a')] });
  bed.runtimeFails = true;
  const { node, pods } = await bed.summary();
  expect(node.fs?.capacityBytes).toBeGreaterThan(0);
  expect(node).not.toHaveProperty('runtime');
  expect(pods).toMatchObject([{ containers: [{ name: 'a' }] }]);
  await expect(bed.open().diskLayout()).rejects.toThrow('connection refused');
});
