import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CgroupTree } from '../../../src/runtime/cgroups/cgroup-tree.ts';
import { groupGauge } from '../../../src/runtime/stats/memory-gauge.ts';
import { MIB, StatsBed } from './stats-bed.ts';

let bed: StatsBed;
beforeEach(() => {
  bed = new StatsBed();
});
afterEach(() => bed.cleanUp());

/** 700 of 1000 MiB are used; 300 of them are page cache. */
function pods(): void {
  bed.write('memory/kubepods/memory.limit_in_bytes', `${1000 * MIB}\n`);
  bed.write('memory/kubepods/memory.usage_in_bytes', `${700 * MIB}\n`);
  bed.figures('memory/kubepods/memory.stat', { total_inactive_file: 300 * MIB });
}

test('memory.stat is read only if the usage alone does not show that enough memory is available', () => {
  bed.cgroups.mountV1('memory');
  pods();
  const tree = new CgroupTree(bed.cgroups.mountinfoFile, [], bed.log.logger);
  const gauge = groupGauge(tree, '/kubepods');
  expect(gauge?.read(299 * MIB)).toEqual({ availableBytes: 300 * MIB, capacityBytes: 1000 * MIB });
  expect(gauge?.read(300 * MIB)).toEqual({ availableBytes: 600 * MIB, capacityBytes: 1000 * MIB });
  expect(gauge?.read()).toEqual({ availableBytes: 600 * MIB, capacityBytes: 1000 * MIB });
  gauge?.close();
});

/** `/proc/meminfo` of the machine: 400 MiB are in use, of which the kernel can reclaim 100. */
function machine(): void {
  bed.meminfo({
    MemTotal: 1000 * MIB,
    AnonPages: 150 * MIB,
    Cached: 200 * MIB,
    Buffers: 40 * MIB,
    SwapCached: 10 * MIB,
    'Inactive(file)': 100 * MIB,
  });
}
const LEFT = { availableBytes: 700 * MIB, capacityBytes: 1000 * MIB };

test('on cgroup v1, the available memory comes from /proc/meminfo if the root cgroup is that of the machine', async () => {
  bed.cgroups.mountV1('memory');
  machine();
  bed.write('memory/release_agent', '');
  bed.write('memory/memory.usage_in_bytes', `${900 * MIB}\n`);
  bed.figures('memory/memory.stat', { total_inactive_file: 0, total_pgfault: 7 });
  expect(bed.open().memoryAvailable('memory.available')).toEqual(LEFT);
  const { node } = await bed.summary({ onlyNode: true });
  expect(node.memory).toMatchObject({ workingSetBytes: 300 * MIB, availableBytes: 700 * MIB });
  // /proc/meminfo has no page faults.
  expect((await bed.summary()).node.memory).toMatchObject({ pageFaults: 7 });
});

test('on cgroup v1, it comes from the root cgroup if that is a part of the tree of the machine', () => {
  bed.cgroups.mountV1('memory');
  machine();
  bed.write('memory/memory.usage_in_bytes', `${900 * MIB}\n`);
  bed.figures('memory/memory.stat', { total_inactive_file: 0 });
  expect(bed.open().memoryAvailable('memory.available')?.availableBytes).toBe(100 * MIB);
});

test('on cgroup v2, it comes from the root cgroup if that has memory.current, else from /proc/meminfo', () => {
  bed.cgroups.mountV2('memory');
  machine();
  bed.figures('v2/memory.stat', { anon: 800 * MIB, file: 100 * MIB, inactive_file: 0 });
  expect(bed.open().memoryAvailable('memory.available')).toEqual(LEFT);
  bed.write('v2/memory.current', `${900 * MIB}\n`);
  expect(bed.open().memoryAvailable('memory.available')?.availableBytes).toBe(100 * MIB);
});
