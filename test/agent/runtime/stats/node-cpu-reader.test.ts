import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { StatsBed } from './stats-bed.ts';

let bed: StatsBed;
beforeEach(() => {
  bed = new StatsBed();
});
afterEach(() => bed.cleanUp());

/** Lines of four CPUs, each busy for so many of 100 ticks, of which six are the kernel's. */
function stat(...busy: readonly number[]): void {
  const lines = busy.map((ticks, cpu) => `cpu${cpu} ${ticks - 6} 0 3 ${60 - ticks} 40 1 2 0 7 0`);
  bed.write(
    'proc/stat',
    [`cpu  1 2 3 4 5 6 7 8 9 10`, ...lines, 'intr 1 2 3', 'procs_running 1', ''].join('\n'),
  );
}
function twoNodes(): void {
  bed.write('sys/devices/system/node/node0/cpulist', '0-1\n');
  bed.write('sys/devices/system/node/node1/cpulist', '2-3\n');
  bed.write('sys/devices/system/node/node2/cpulist', '\n');
}

test('the load is that of a minute, beside the number of CPUs and how long tasks waited', async () => {
  stat(11, 12, 13, 14);
  bed.write('proc/loadavg', '7.50 1.00 0.50 3/900 4711\n');
  bed.write('proc/pressure/cpu', 'some avg10=12.00 avg60=0.00 avg300=0.00 total=1\n');
  const cpu = await bed.open().nodeCpu();
  expect(cpu.load()).toMatchObject({ load1: 7.5, cpus: 4, psi: { some: { avg10: 12 } } });
});

test('without figures of the kernel there are no load and no nodes', async () => {
  const cpu = await bed.open().nodeCpu();
  expect(cpu.load()).toBeUndefined();
  expect(cpu.numaNodes()).toEqual([]);
  expect([cpu.podsOnOneNode(['one']), cpu.timesOfPods(['one'])]).toEqual([new Map(), new Map()]);
});

test('a NUMA node is as busy as its CPUs, waiting for disks not counted', async () => {
  stat(10, 20, 30, 40);
  twoNodes();
  expect((await bed.open().nodeCpu()).numaNodes()).toEqual([
    { id: 0, cpus: 2, busyTicks: 30, systemTicks: 12, totalTicks: 200 },
    { id: 1, cpus: 2, busyTicks: 70, systemTicks: 12, totalTicks: 200 },
  ]);
});

test.each(['v1', 'v2'])(
  'with cgroup %s, a pod is on one node if its containers have CPUs of that node alone',
  async (version) => {
    twoNodes();
    if (version === 'v1') bed.cgroups.mountV1('memory', 'cpuset');
    else bed.cgroups.mountV2('memory cpuset');
    const [base, file] = version === 'v1' ? ['cpuset', 'cpuset.cpus'] : ['v2', 'cpuset.cpus.effective'];
    const container = (pod: string, name: string, cpus: string) => {
      if (version === 'v1') bed.write(`memory/kubepods/pod${pod}/${name}/x`, '');
      bed.write(`${base}/kubepods/pod${pod}/${name}/${file}`, `${cpus}\n`);
    };
    container('one', 'sandbox', '0-3');
    container('one', 'main', '2');
    container('both', 'main', '1');
    container('both', 'side', '2');
    container('shared', 'main', '0-3');
    const cpu = await bed.open().nodeCpu();
    expect(cpu.podsOnOneNode(['one', 'both', 'shared', 'gone'])).toEqual(new Map([['one', 1]]));
    expect(cpu.podsOnOneNode(['both'])).toEqual(new Map());
  },
);

test.each(['v1', 'v2'])(
  "with cgroup %s, the processor time of a pod is told with the kernel's part",
  async (version) => {
    if (version === 'v1') {
      bed.cgroups.mountV1('memory', 'cpuacct');
      bed.write('memory/kubepods/podone/x', '');
      bed.write('cpuacct/kubepods/podone/cpuacct.usage', '5000000000\n');
      bed.figures('cpuacct/kubepods/podone/cpuacct.stat', { user: 300, system: 200 });
    } else {
      bed.cgroups.mountV2('memory cpu');
      const figures = { usage_usec: 5_000_000, user_usec: 3_000_000, system_usec: 2_000_000 };
      bed.figures('v2/kubepods/podone/cpu.stat', figures);
    }
    const cpu = await bed.open().nodeCpu();
    const times = new Map([['one', { usage: 5_000_000, system: 2_000_000 }]]);
    expect(cpu.timesOfPods(['one', 'gone'])).toEqual(times);
  },
);
