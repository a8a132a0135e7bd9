import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { rmSync } from 'node:fs';
import { systemClock } from '../../../../src/system/timer.ts';
import { container, MIB, NOW, SANDBOX, StatsBed, TIME } from './stats-bed.ts';

const ONLY = { onlyCPUAndMemory: true };
const UNLIMITED = '9223372036854771712\n';

let bed: StatsBed;
beforeEach(() => {
  bed = new StatsBed();
  bed.cgroups.mountV1('memory', 'cpuacct', 'pids');
  bed.meminfo({ MemTotal: 1000 * MIB });
});
afterEach(() => bed.cleanUp());

function memory(group: string, usage: number, stat: Record<string, number>, limit = UNLIMITED): void {
  bed.write(`memory${group}/memory.usage_in_bytes`, `${usage}\n`);
  bed.write(`memory${group}/memory.limit_in_bytes`, limit);
  bed.figures(`memory${group}/memory.stat`, stat);
}

describe('on cgroup v1, the node', () => {
  test('has as available memory its capacity minus the working set', async () => {
    memory('', 600 * MIB, {
      rss: MIB,
      inactive_file: 2 * MIB,
      pgfault: 1,
      hierarchical_memory_limit: MIB,
      total_cache: 200 * MIB,
      total_rss: 400 * MIB,
      total_inactive_file: 100 * MIB,
      total_pgfault: 70,
      total_pgmajfault: 7,
    });
    const { node } = await bed.summary(ONLY);
    expect(node.memory).toEqual({
      time: TIME,
      usageBytes: 600 * MIB,
      workingSetBytes: 500 * MIB,
      rssBytes: 400 * MIB,
      availableBytes: 500 * MIB,
      pageFaults: 70,
      majorPageFaults: 7,
    });
    expect(bed.open().memoryAvailable('memory.available')).toEqual({
      availableBytes: 500 * MIB,
      capacityBytes: 1000 * MIB,
    });
  });

  test('never has a negative working set or negative available memory', async () => {
    memory('', 10 * MIB, { total_inactive_file: 20 * MIB });
    expect((await bed.summary(ONLY)).node.memory).toMatchObject({ workingSetBytes: 0 });
    memory('', 2000 * MIB, { total_inactive_file: 0 });
    expect((await bed.summary(ONLY)).node.memory).toMatchObject({ availableBytes: 0 });
  });

  test('has its CPU time, and the CPU usage per second since the last summary', async () => {
    bed.write('cpuacct/cpuacct.usage', '5000000000\n');
    const stats = bed.open();
    expect((await stats.summary(ONLY)).node.cpu).toEqual({ time: TIME, usageCoreNanoSeconds: 5e9 });
    bed.write('cpuacct/cpuacct.usage', '6000000000\n');
    await bed.clock.advance(4000);
    expect((await stats.summary(ONLY)).node.cpu).toMatchObject({ usageNanoCores: 250_000_000 });
    // Too soon for a new rate.
    await bed.clock.advance(10);
    bed.write('cpuacct/cpuacct.usage', '6000900000\n');
    expect((await stats.summary(ONLY)).node.cpu).toMatchObject({ usageNanoCores: 250_000_000 });
  });

  test('has no CPU rate yet after its cgroup was created again', async () => {
    bed.write('cpuacct/cpuacct.usage', '5000000000\n');
    const stats = bed.open();
    await stats.summary(ONLY);
    bed.write('cpuacct/cpuacct.usage', '7000\n');
    await bed.clock.advance(4000);
    expect((await stats.summary(ONLY)).node.cpu).not.toHaveProperty('usageNanoCores');
  });

  test('starts a new CPU rate after its clock was set back', async () => {
    bed.write('cpuacct/cpuacct.usage', '5000000000\n');
    let nowMs = NOW;
    const stats = bed.open({}, { clock: { ...systemClock, now: () => nowMs } });
    const rate = async (usage: string, atMs: number) => {
      bed.write('cpuacct/cpuacct.usage', usage);
      nowMs = atMs;
      return (await stats.summary(ONLY)).node.cpu?.usageNanoCores;
    };
    expect(await rate('5000000000\n', NOW)).toBeUndefined();
    expect(await rate('6000000000\n', NOW + 4000)).toBe(250_000_000);
    expect(await rate('6100000000\n', NOW - 3_600_000)).toBeUndefined();
    expect(await rate('6300000000\n', NOW - 3_598_000)).toBe(100_000_000);
  });

  test('has the same start time in every summary', async () => {
    const stats = bed.open();
    const { startTime } = (await stats.summary(ONLY)).node;
    await bed.clock.advance(12_345);
    expect((await stats.summary(ONLY)).node.startTime).toBe(startTime);
    expect(Date.parse(startTime ?? '')).toBeLessThan(NOW);
  });

  test('has all pods together as a system container, with the memory that remains below their limit', async () => {
    memory('/kubepods', 300 * MIB, { total_inactive_file: 100 * MIB }, `${500 * MIB}\n`);
    const { systemContainers } = (await bed.summary(ONLY)).node;
    expect(systemContainers?.[0]).toMatchObject({
      name: 'pods',
      memory: { workingSetBytes: 200 * MIB, availableBytes: 300 * MIB },
    });
    expect(bed.open().memoryAvailable('allocatableMemory.available')).toEqual({
      availableBytes: 300 * MIB,
      capacityBytes: 500 * MIB,
    });
  });

  test('has the pressure of its tasks', async () => {
    bed.write(
      'proc/pressure/memory',
      'some avg10=1.50 avg60=0.20 avg300=0.03 total=1023634\nfull avg10=0.10 avg60=0.00 avg300=0.00 total=465739\n',
    );
    bed.write('proc/pressure/cpu', 'some avg10=81.98 avg60=73.12 avg300=58.47 total=13662330597\n');
    memory('', MIB, { total_rss: 1 });
    bed.write('cpuacct/cpuacct.usage', '1\n');
    const { node } = await bed.summary();
    expect(node.memory?.psi).toEqual({
      some: { avg10: 1.5, avg60: 0.2, avg300: 0.03, total: 1_023_634 },
      full: { avg10: 0.1, avg60: 0, avg300: 0, total: 465_739 },
    });
    expect(node.cpu?.psi).toMatchObject({ some: { avg10: 81.98 }, full: { total: 0 } });
    expect(node).not.toHaveProperty('io');
  });

  test('has the maximum and the number of PIDs', async () => {
    bed.write('proc/sys/kernel/pid_max', '32768\n');
    bed.write('proc/sys/kernel/threads-max', '30000\n');
    bed.write('proc/loadavg', '8.13 6.25 4.66 5/138 23424\n');
    expect((await bed.summary()).node.rlimit).toEqual({ time: TIME, maxpid: 30_000, curproc: 138 });
  });
});

describe('on cgroup v1, a pod', () => {
  const GROUP = '/kubepods/burstable/poduid';
  beforeEach(() => bed.runs({ sandboxes: [SANDBOX], containers: [container('id', 'main')] }));

  test('has the figures of its cgroup, and each container those of its own cgroup', async () => {
    memory(GROUP, 64 * MIB, { total_rss: 50 * MIB, total_inactive_file: 4 * MIB });
    memory(`${GROUP}/id`, 60 * MIB, { total_rss: 49 * MIB, total_inactive_file: 4 * MIB }, `${100 * MIB}\n`);
    bed.write(`cpuacct${GROUP}/cpuacct.usage`, '7\n');
    bed.write(`cpuacct${GROUP}/id/cpuacct.usage`, '6\n');
    bed.write(`pids${GROUP}/pids.current`, '12\n');
    const faults = { pageFaults: 0, majorPageFaults: 0 };
    expect(await bed.podStats(ONLY)).toEqual({
      podRef: { name: 'pod', namespace: 'ns', uid: 'uid' },
      startTime: TIME,
      cpu: { time: TIME, usageCoreNanoSeconds: 7 },
      memory: { time: TIME, usageBytes: 64 * MIB, workingSetBytes: 60 * MIB, rssBytes: 50 * MIB, ...faults },
      process_stats: { process_count: 12 },
      containers: [
        {
          name: 'main',
          startTime: TIME,
          cpu: { time: TIME, usageCoreNanoSeconds: 6 },
          memory: {
            time: TIME,
            usageBytes: 60 * MIB,
            workingSetBytes: 56 * MIB,
            rssBytes: 49 * MIB,
            availableBytes: 44 * MIB,
            ...faults,
          },
        },
      ],
    });
    // The cgroups have all figures.
    expect(bed.asked).toEqual([]);
  });

  test.each(['', '/besteffort'])('is found in kubepods%s as well', async (qos) => {
    memory(`/kubepods${qos}/poduid`, 3 * MIB, { total_rss: MIB });
    expect((await bed.podStats(ONLY)).memory).toMatchObject({ usageBytes: 3 * MIB });
  });

  test('whose cgroup is gone has no figures, and its containers are still listed', async () => {
    memory(GROUP, 64 * MIB, { total_rss: 50 * MIB });
    rmSync(bed.cgroups.path(`memory${GROUP}/memory.stat`));
    const pod = await bed.podStats(ONLY);
    expect(pod).not.toHaveProperty('memory');
    expect(pod.containers).toEqual([{ name: 'main', startTime: TIME }]);
  });

  test('without running containers is not listed', async () => {
    bed.runs({
      sandboxes: [{ id: 's', ready: false }],
      containers: [{ id: 'x', name: 'x', state: 'exited' }],
    });
    expect((await bed.summary(ONLY)).pods).toHaveLength(1);
  });

  test('with ended and running containers lists the running ones', async () => {
    bed.pods.length = 0;
    bed.runs({ containers: [container('id', 'main'), { id: 'x', name: 'init', state: 'exited' }] });
    expect((await bed.podStats()).containers?.map(({ name }) => name)).toEqual(['main']);
  });
});

test('has its own figures, also among more than a hundred pods', async () => {
  const uids = Array.from({ length: 130 }, (_, index) => `uid${index}`);
  for (const [index, uid] of uids.entries()) {
    bed.runs({ sandboxes: [SANDBOX] });
    bed.pods[index] = { ...bed.pods[index]!, uid };
    memory(`/kubepods/pod${uid}`, index, { total_rss: index });
  }
  const { pods } = await bed.summary(ONLY);
  expect(pods.map(({ podRef, memory: figures }) => [podRef.uid, figures?.rssBytes])).toEqual(
    uids.map((uid, index) => [uid, index]),
  );
});
