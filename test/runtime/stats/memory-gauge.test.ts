import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CgroupTree } from '../../../src/runtime/cgroups/cgroup-tree.ts';
import { groupGauge } from '../../../src/runtime/stats/memory-gauge.ts';
import { MIB, StatsBed } from './stats-bed.ts';

let bed: StatsBed;
beforeEach(() => {
  bed = new StatsBed();
});
afterEach(() => bed.cleanUp());

/** 700 MiB of 1000 are used, 300 of them cached of files. */
function pods(): void {
  bed.write('memory/kubepods/memory.limit_in_bytes', `${1000 * MIB}\n`);
  bed.write('memory/kubepods/memory.usage_in_bytes', `${700 * MIB}\n`);
  bed.figures('memory/kubepods/memory.stat', { total_inactive_file: 300 * MIB });
}

test('the file that the kernel sums up is read only where the usage alone does not show that enough is left', () => {
  bed.cgroups.mountV1('memory');
  pods();
  const tree = new CgroupTree(bed.cgroups.mountinfoFile, [], bed.log.logger);
  const gauge = groupGauge(tree, '/kubepods');
  expect(gauge?.read(299 * MIB)).toEqual({ availableBytes: 300 * MIB, capacityBytes: 1000 * MIB });
  expect(gauge?.read(300 * MIB)).toEqual({ availableBytes: 600 * MIB, capacityBytes: 1000 * MIB });
  expect(gauge?.read()).toEqual({ availableBytes: 600 * MIB, capacityBytes: 1000 * MIB });
  gauge?.close();
});

/** As of the machine itself: 400 MiB are in use, and 100 of them are given back where they are needed. */
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

test('what is left to the machine is in /proc/meminfo, where the top of v1 is the machine', async () => {
  bed.cgroups.mountV1('memory');
  machine();
  bed.write('memory/release_agent', '');
  bed.write('memory/memory.usage_in_bytes', `${900 * MIB}\n`);
  bed.figures('memory/memory.stat', { total_inactive_file: 0, total_pgfault: 7 });
  expect(bed.open().memoryAvailable('memory.available')).toEqual(LEFT);
  const { node } = await bed.summary({ onlyNode: true });
  expect(node.memory).toMatchObject({ workingSetBytes: 300 * MIB, availableBytes: 700 * MIB });
  // Page faults are not in there.
  expect((await bed.summary()).node.memory).toMatchObject({ pageFaults: 7 });
});

test('and where the top of v1 is a group of somebody else’s, in that group', () => {
  bed.cgroups.mountV1('memory');
  machine();
  bed.write('memory/memory.usage_in_bytes', `${900 * MIB}\n`);
  bed.figures('memory/memory.stat', { total_inactive_file: 0 });
  expect(bed.open().memoryAvailable('memory.available')?.availableBytes).toBe(100 * MIB);
});

test('the same of v2, of which only a group says how much memory it uses', () => {
  bed.cgroups.mountV2('memory');
  machine();
  bed.figures('v2/memory.stat', { anon: 800 * MIB, file: 100 * MIB, inactive_file: 0 });
  expect(bed.open().memoryAvailable('memory.available')).toEqual(LEFT);
  bed.write('v2/memory.current', `${900 * MIB}\n`);
  expect(bed.open().memoryAvailable('memory.available')?.availableBytes).toBe(100 * MIB);
});
