import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { container, MIB, SANDBOX, StatsBed, TIME } from './stats-bed.ts';

const ONLY = { onlyCPUAndMemory: true };
const pressure = (percent: string) =>
  `some avg10=${percent} avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n`;

let bed: StatsBed;
beforeEach(() => {
  bed = new StatsBed();
  bed.cgroups.mountV2('cpu io memory pids');
  bed.meminfo({ MemTotal: 1000 * MIB });
});
afterEach(() => bed.cleanUp());

describe('on cgroup v2, the node', () => {
  test('has as memory usage the memory of processes and the page cache, as the root cgroup has no memory.current', async () => {
    bed.figures('v2/memory.stat', {
      anon: 400 * MIB,
      file: 200 * MIB,
      inactive_anon: 5 * MIB,
      active_file: 100 * MIB,
      inactive_file: 100 * MIB,
      pgfault: 70,
      pgmajfault: 7,
    });
    expect((await bed.summary(ONLY)).node.memory).toEqual({
      time: TIME,
      usageBytes: 600 * MIB,
      workingSetBytes: 500 * MIB,
      rssBytes: 400 * MIB,
      availableBytes: 500 * MIB,
      pageFaults: 70,
      majorPageFaults: 7,
    });
  });

  test('has the usage of memory.current if the root cgroup has that file, as in a container', async () => {
    bed.figures('v2/memory.stat', { anon: 400 * MIB, file: 200 * MIB, inactive_file: 100 * MIB });
    bed.write('v2/memory.current', `${650 * MIB}\n`);
    expect((await bed.summary(ONLY)).node.memory).toMatchObject({ workingSetBytes: 550 * MIB });
  });

  test('has its CPU time, which the kernel counts in microseconds', async () => {
    bed.figures('v2/cpu.stat', { usage_usec: 1234, user_usec: 1000, system_usec: 234 });
    expect((await bed.summary(ONLY)).node.cpu).toEqual({ time: TIME, usageCoreNanoSeconds: 1_234_000 });
  });

  test('has no memory limit for all pods together if the file contains max', async () => {
    bed.figures('v2/kubepods/memory.stat', { anon: 10 * MIB, inactive_file: 0 });
    bed.write('v2/kubepods/memory.current', `${20 * MIB}\n`);
    bed.write('v2/kubepods/memory.max', 'max\n');
    const [pods] = (await bed.summary(ONLY)).node.systemContainers ?? [];
    expect(pods?.memory).toMatchObject({ workingSetBytes: 20 * MIB });
    expect(pods?.memory).not.toHaveProperty('availableBytes');
    expect(bed.open().memoryAvailable('allocatableMemory.available')).toBeUndefined();
  });
});

test('on cgroup v2, a pod has figures of memory, CPU, PIDs and pressure', async () => {
  bed.runs({ sandboxes: [SANDBOX], containers: [container('id', 'main')] });
  for (const group of ['v2/kubepods/poduid', 'v2/kubepods/poduid/id']) {
    bed.figures(`${group}/memory.stat`, {
      anon: 30 * MIB,
      file: 9 * MIB,
      inactive_file: 8 * MIB,
      pgfault: 3,
    });
    bed.write(`${group}/memory.current`, `${40 * MIB}\n`);
    bed.write(`${group}/memory.max`, `${64 * MIB}\n`);
    bed.write(`${group}/memory.pressure`, pressure('1.25'));
    bed.write(`${group}/io.pressure`, pressure('2.50'));
    bed.write(`${group}/cpu.pressure`, pressure('5.00'));
    bed.figures(`${group}/cpu.stat`, { usage_usec: 9 });
    bed.write(`${group}/pids.current`, '3\n');
  }
  const psi = (avg10: number) => ({
    some: { avg10, avg60: 0, avg300: 0, total: 5 },
    full: { avg10: 0, avg60: 0, avg300: 0, total: 1 },
  });
  const memory = {
    time: TIME,
    usageBytes: 40 * MIB,
    workingSetBytes: 32 * MIB,
    rssBytes: 30 * MIB,
    availableBytes: 32 * MIB,
    pageFaults: 3,
    majorPageFaults: 0,
    psi: psi(1.25),
  };
  const cpu = { time: TIME, usageCoreNanoSeconds: 9000, psi: psi(5) };
  expect(await bed.podStats(ONLY)).toEqual({
    podRef: { name: 'pod', namespace: 'ns', uid: 'uid' },
    startTime: TIME,
    cpu,
    memory,
    process_stats: { process_count: 3 },
    containers: [{ name: 'main', startTime: TIME, cpu, memory }],
  });
  // As with the kubelet, the pressure of I/O is in the whole Summary alone, there of containers as well.
  const io = { time: TIME, psi: psi(2.5) };
  const { io: ofPod, containers } = await bed.podStats();
  expect([ofPod, containers?.[0]?.io]).toEqual([io, io]);
});
