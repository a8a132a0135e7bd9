import { mkdirSync, symlinkSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { GroupFigures } from '../../../../../src/agent/runtime/stats/cadvisor/group-figures.ts';
import { openBelow } from '../../../../support/held-open.ts';
import { container, MIB, NOW, SANDBOX, StatsBed } from '../stats-bed.ts';

const POD = 'kubepods/burstable/poduid';
const NETWORK = `Inter-|   Receive
 face |bytes
    lo: 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9
  eth0: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0
 veth1: 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9
`;

let bed: StatsBed;
beforeEach(() => {
  bed = new StatsBed();
  bed.meminfo({ MemTotal: 1000 * MIB, SwapTotal: 0, SwapFree: 0 });
});
afterEach(() => bed.cleanUp());

const figures = async () => byId(await bed.open().groupFigures());
const byId = (groups: readonly GroupFigures[]) =>
  Object.fromEntries(groups.map((group) => [group.id, group]));

describe('on cgroup v1', () => {
  const group = (path: string, values: { cpuNs: number; usage: number; quotaUs?: number }) => {
    bed.write(`cpuacct/${path}/cpuacct.usage`, `${values.cpuNs}\n`);
    bed.write(`cpu/${path}/cpu.shares`, '512\n');
    bed.write(`cpu/${path}/cpu.cfs_period_us`, '100000\n');
    bed.write(`cpu/${path}/cpu.cfs_quota_us`, `${values.quotaUs ?? -1}\n`);
    bed.figures(`cpu/${path}/cpu.stat`, { nr_periods: 9, nr_throttled: 4, throttled_time: 1_500_000_000 });
    bed.write(`memory/${path}/memory.usage_in_bytes`, `${values.usage}\n`);
    bed.write(`memory/${path}/memory.limit_in_bytes`, `${64 * MIB}\n`);
    bed.figures(`memory/${path}/memory.stat`, {
      total_cache: 3,
      total_rss: 4,
      total_swap: 5,
      total_mapped_file: 6,
      total_inactive_file: 7,
    });
    bed.figures(`memory/${path}/memory.oom_control`, { oom_kill_disable: 0, under_oom: 0, oom_kill: 2 });
  };

  beforeEach(() => {
    bed.cgroups.mountV1('memory', 'cpu', 'cpuacct');
    group(POD, { cpuNs: 3e9, usage: 300 });
    group(`${POD}/sandbox`, { cpuNs: 1e9, usage: 100 });
    group(`${POD}/id`, { cpuNs: 2e9, usage: 200, quotaUs: 20_000 });
    bed.write(`memory/${POD}/sandbox/cgroup.procs`, '100\n');
    bed.write('proc/100/net/dev', NETWORK);
    bed.runs({
      sandboxes: [{ ...SANDBOX, networkMode: 'POD' }],
      containers: [{ ...container('id', 'main'), image: 'web:1' }],
    });
  });

  test('a container has its figures, its limits and its names', async () => {
    expect((await figures())[`/${POD}/id`]).toEqual({
      id: `/${POD}/id`,
      name: 'id',
      image: 'web:1',
      namespace: 'ns',
      pod: 'pod',
      container: 'main',
      timeMs: NOW,
      startedAtMs: NOW,
      cpu: { usageSeconds: 2, throttling: { periods: 9, throttledPeriods: 4, throttledSeconds: 1.5 } },
      memory: { usage: 200, workingSet: 193, rss: 4, cache: 3, mappedFile: 6, swap: 0 },
      oomEvents: 2,
      limits: { cpuShares: 512, cpuPeriod: 100_000, cpuQuota: 20_000, memory: 64 * MIB },
      disks: [],
      interfaces: [],
    });
  });

  test('the sandbox has an image and no container, and alone the network', async () => {
    const { [`/${POD}/sandbox`]: sandbox, ...others } = await figures();
    expect(sandbox).toMatchObject({ name: 'sandbox', image: 'pause', pod: 'pod', container: '' });
    expect(sandbox?.interfaces).toEqual([
      {
        name: 'eth0',
        received: { bytes: 1, packets: 2, errors: 3, dropped: 4 },
        sent: { bytes: 5, packets: 6, errors: 7, dropped: 8 },
      },
    ]);
    expect(Object.values(others).flatMap(({ interfaces }) => interfaces)).toEqual([]);
  });

  test('a pod has its namespace and name only', async () => {
    expect((await figures())[`/${POD}`]).toMatchObject({
      name: '',
      image: '',
      namespace: 'ns',
      pod: 'pod',
      container: '',
      cpu: { usageSeconds: 3 },
    });
  });

  test('groups without a limit of CPU time cannot be throttled', async () => {
    const { [`/${POD}`]: pod } = await figures();
    expect(pod?.cpu).toEqual({ usageSeconds: 3 });
    expect(pod?.limits?.cpuQuota).toBeUndefined();
  });

  test('the machine has its memory as limit, and its network', async () => {
    group('', { cpuNs: 7e9, usage: 700 });
    bed.write('proc/net/dev', NETWORK);
    const { '/': machine } = await figures();
    expect(machine).toMatchObject({ name: '', pod: '', cpu: { usageSeconds: 7 } });
    expect(machine?.limits?.memory).toBe(1000 * MIB);
    expect(machine?.interfaces).toHaveLength(1);
  });

  test('a pod on the network of the node has no network of its own', async () => {
    bed.pods = [];
    bed.runs({ sandboxes: [{ ...SANDBOX, networkMode: 'NODE' }], containers: [container('id')] });
    expect((await figures())[`/${POD}/sandbox`]?.interfaces).toEqual([]);
  });

  test('limits of a container are read once, those of its pod again after a minute', async () => {
    const provider = bed.open();
    const memoryLimits = async () => {
      const { [`/${POD}`]: pod, [`/${POD}/id`]: main } = byId(await provider.groupFigures());
      return [pod?.limits?.memory, main?.limits?.memory];
    };
    expect(await memoryLimits()).toEqual([64 * MIB, 64 * MIB]);
    for (const path of [POD, `${POD}/id`]) bed.write(`memory/${path}/memory.limit_in_bytes`, '1\n');
    expect(await memoryLimits()).toEqual([64 * MIB, 64 * MIB]);
    await bed.clock.advance(60_000);
    expect(await memoryLimits()).toEqual([1, 64 * MIB]);
  });

  test('swap is read where the machine has some', async () => {
    bed.meminfo({ MemTotal: 1000 * MIB, SwapTotal: 1024, SwapFree: 1024 });
    expect((await figures())[`/${POD}/id`]?.memory?.swap).toBe(5);
  });

  test('a group that is gone has no figures', async () => {
    bed.runs({ sandboxes: [{ ...SANDBOX, id: 'gone' }] });
    const gone = (await figures())[`/${POD}/gone`];
    expect(gone).not.toHaveProperty('cpu');
    expect(gone).not.toHaveProperty('memory');
  });
});

describe('the files of groups', () => {
  const folders = [POD, `${POD}/sandbox`, `${POD}/id`];

  beforeEach(() => {
    bed.cgroups.mountV1('memory', 'cpu', 'cpuacct');
    for (const folder of folders) {
      bed.write(`cpuacct/${folder}/cpuacct.usage`, '1\n');
      bed.write(`memory/${folder}/memory.usage_in_bytes`, '1\n');
      bed.figures(`memory/${folder}/memory.stat`, { total_rss: 1 });
    }
    bed.runs({ sandboxes: [SANDBOX], containers: [container('id', 'main')] });
  });

  /** Files below the folder of the bed that this process has open. */
  const open = () => openBelow(bed.cgroups.dir);

  test('stay open while there are scrapes, and are closed when their group is gone', async () => {
    const provider = bed.open();
    await provider.groupFigures();
    expect(open()).toBe(9);
    await bed.clock.advance(119_000);
    await provider.groupFigures();
    expect(open()).toBe(9);
    bed.pods = [];
    bed.runs({ sandboxes: [SANDBOX] });
    await provider.groupFigures();
    expect(open()).toBe(6);
    await provider.close();
    expect(open()).toBe(0);
  });

  test('are closed when there has been no scrape for two minutes, and opened by the next one', async () => {
    const provider = bed.open();
    await provider.groupFigures();
    await bed.clock.advance(120_000);
    expect(open()).toBe(0);
    await provider.groupFigures();
    expect(open()).toBe(9);
  });

  test('are read by one scrape after the other, and by none after the end', async () => {
    const provider = bed.open();
    const scrapes = [provider.groupFigures(), provider.groupFigures()];
    const [first, second] = await Promise.all(scrapes);
    expect(second).toEqual(first);
    await provider.close();
    expect(await provider.groupFigures()).toEqual([]);
    expect([open(), bed.clock.armed]).toEqual([0, 0]);
  });
});

describe('on cgroup v2', () => {
  const PRESSURE = (total: number) =>
    `some avg10=0.00 avg60=0.00 avg300=0.00 total=${total}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n`;

  test('a container has its figures, with disks and pressure', async () => {
    bed.cgroups.mountV2('cpu io memory pids');
    const folder = `v2/${POD}/id`;
    bed.figures(`${folder}/cpu.stat`, {
      usage_usec: 2_000_000,
      user_usec: 1_500_000,
      system_usec: 500_000,
      nr_periods: 9,
      nr_throttled: 4,
      throttled_usec: 250_000,
    });
    bed.write(`${folder}/cpu.max`, '20000 100000\n');
    bed.write(`${folder}/cpu.weight`, '100\n');
    bed.write(`${folder}/memory.current`, '200\n');
    bed.write(`${folder}/memory.max`, 'max\n');
    bed.figures(`${folder}/memory.stat`, { anon: 4, file: 3, file_mapped: 6, inactive_file: 7 });
    bed.figures(`${folder}/memory.events`, { oom: 3, oom_kill: 2 });
    bed.write(
      `${folder}/io.stat`,
      '8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0\n9:9 rbytes=5 wbytes=6 rios=7 wios=8 dbytes=0 dios=0\n',
    );
    mkdirSync(bed.cgroups.path('sys/dev/block'), { recursive: true });
    symlinkSync('../../devices/pci/block/sda', bed.cgroups.path('sys/dev/block/8:0'));
    for (const [resource, total] of Object.entries({ cpu: 10, memory: 20, io: 30 }))
      bed.write(`${folder}/${resource}.pressure`, PRESSURE(total));
    bed.runs({ sandboxes: [SANDBOX], containers: [container('id', 'main')] });

    expect((await figures())[`/${POD}/id`]).toMatchObject({
      cpu: {
        usageSeconds: 2,
        userSeconds: 1.5,
        systemSeconds: 0.5,
        throttling: { periods: 9, throttledPeriods: 4, throttledSeconds: 0.25 },
      },
      memory: { usage: 200, workingSet: 193, rss: 4, cache: 3, mappedFile: 6, swap: 0 },
      oomEvents: 2,
      limits: { cpuShares: 2597, cpuPeriod: 100_000, cpuQuota: 20_000, memory: 0 },
      disks: [
        { device: '/dev/sda', readBytes: 1, writtenBytes: 2, reads: 3, writes: 4 },
        { device: '9:9', readBytes: 5, writtenBytes: 6, reads: 7, writes: 8 },
      ],
      pressure: { cpu: { some: { total: 10 } }, memory: { some: { total: 20 } }, io: { full: { total: 1 } } },
    });
  });
});

describe('without cgroups', () => {
  test('a container has the figures of the runtime', async () => {
    bed.runs({ sandboxes: [SANDBOX], containers: [{ ...container('id', 'main'), image: 'web:1' }] });
    const metadata = { name: 'main', attempt: 0 };
    bed.containerStats = [
      {
        attributes: { id: 'id', metadata, labels: {} },
        cpu: { timestamp: NOW * 1e6, usageCoreNanoSeconds: 1.5e9 },
        memory: { timestamp: NOW * 1e6, workingSetBytes: 30, rssBytes: 20 },
      },
    ];
    const groups = byId(await bed.open({ cgroupRoot: undefined, mountinfoFile: '/nowhere' }).groupFigures());
    expect(groups['/id']).toEqual({
      id: '/id',
      name: 'id',
      image: 'web:1',
      namespace: 'ns',
      pod: 'pod',
      container: 'main',
      timeMs: NOW,
      startedAtMs: NOW,
      cpu: { usageSeconds: 1.5 },
      memory: { workingSet: 30, rss: 20 },
      disks: [],
      interfaces: [],
    });
  });

  test('a container without an image counts as one with the image process', async () => {
    bed.runs({ sandboxes: [SANDBOX], containers: [container('id', 'main')] });
    const groups = byId(await bed.open({ cgroupRoot: undefined, mountinfoFile: '/nowhere' }).groupFigures());
    expect(groups['/id']?.image).toBe('process');
  });
});
