/** Figures of swap, of the machine and of pods. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { rmSync } from 'node:fs';
import { container, MIB, SANDBOX, StatsBed, TIME } from './stats-bed.ts';

const ONLY = { onlyCPUAndMemory: true };
const GROUP = 'kubepods/burstable/poduid';

let bed: StatsBed;
beforeEach(() => {
  bed = new StatsBed();
  bed.meminfo({ MemTotal: 1000 * MIB, SwapCached: MIB, SwapTotal: 64 * MIB, SwapFree: 24 * MIB });
  bed.runs({ sandboxes: [SANDBOX], containers: [container('id', 'main')] });
});
afterEach(() => bed.cleanUp());

/** The swap of the pod and of its container. */
async function ofPod() {
  const { swap, containers } = await bed.podStats(ONLY);
  return [swap, containers?.[0]?.swap];
}

test('swap of the node is all swap of the machine', async () => {
  const expected = { time: TIME, swapAvailableBytes: 24 * MIB, swapUsageBytes: 40 * MIB };
  bed.cgroups.mountV1('memory');
  bed.figures('memory/memory.stat', { total_rss: MIB, total_swap: 3 * MIB });
  expect((await bed.summary(ONLY)).node.swap).toEqual(expected);
  expect((await bed.summary()).node.swap).toEqual(expected);
});

test('a node without swap has figures of zero; if the kernel does not report swap, there are no figures', async () => {
  bed.meminfo({ MemTotal: 1000 * MIB, SwapTotal: 0, SwapFree: 0 });
  bed.write('mountinfo', '');
  expect((await bed.summary(ONLY)).node.swap).toEqual({
    time: TIME,
    swapAvailableBytes: 0,
    swapUsageBytes: 0,
  });
  bed.meminfo({ MemTotal: 1000 * MIB });
  expect((await bed.summary(ONLY)).node).not.toHaveProperty('swap');
});

describe('on cgroup v1, swap of a pod', () => {
  beforeEach(() => {
    bed.cgroups.mountV1('memory');
    count({ total_swap: 5 * MIB }, { total_swap: 4 * MIB });
  });

  const count = (...stats: Record<string, number>[]) => {
    for (const [index, group] of [GROUP, `${GROUP}/id`].entries()) {
      bed.figures(`memory/${group}/memory.stat`, { swap: 1, total_rss: MIB, ...stats[index] });
    }
  };

  test('and of its containers is what the kernel counts; cgroup v1 has no limit for swap alone', async () => {
    bed.write(`memory/${GROUP}/memory.memsw.limit_in_bytes`, `${100 * MIB}\n`);
    expect(await ofPod()).toEqual([
      { time: TIME, swapUsageBytes: 5 * MIB },
      { time: TIME, swapUsageBytes: 4 * MIB },
    ]);
  });

  test('is left out if the kernel does not count it', async () => {
    count({}, {});
    expect(await ofPod()).toEqual([undefined, undefined]);
  });

  test('is left out if the cgroup is gone', async () => {
    rmSync(bed.cgroups.path('memory', GROUP, 'memory.stat'));
    expect(await ofPod()).toEqual([undefined, { time: TIME, swapUsageBytes: 4 * MIB }]);
  });
});

describe('on cgroup v2, swap of a pod', () => {
  beforeEach(() => {
    bed.cgroups.mountV2('memory');
    for (const group of [GROUP, `${GROUP}/id`]) bed.figures(`v2/${group}/memory.stat`, { anon: MIB });
  });

  const swap = (group: string, current: number, max: string) => {
    bed.write(`v2/${group}/memory.swap.current`, `${current}\n`);
    bed.write(`v2/${group}/memory.swap.max`, `${max}\n`);
  };

  test('and of its containers is what their cgroups use, and what remains below a limit', async () => {
    swap(GROUP, 5 * MIB, 'max');
    swap(`${GROUP}/id`, 4 * MIB, String(10 * MIB));
    expect(await ofPod()).toEqual([
      { time: TIME, swapUsageBytes: 5 * MIB },
      { time: TIME, swapAvailableBytes: 6 * MIB, swapUsageBytes: 4 * MIB },
    ]);
  });

  test('has zero available, and nothing negative, if the limit was lowered below the usage', async () => {
    swap(GROUP, 5 * MIB, '0');
    expect((await ofPod())[0]).toEqual({ time: TIME, swapAvailableBytes: 0, swapUsageBytes: 5 * MIB });
  });

  test('is zero, and so is what is available to containers without swap, if the node has none', async () => {
    bed.meminfo({ MemTotal: 1000 * MIB, SwapTotal: 0, SwapFree: 0 });
    swap(GROUP, 0, 'max');
    swap(`${GROUP}/id`, 0, '0');
    expect(await ofPod()).toEqual([
      { time: TIME, swapUsageBytes: 0 },
      { time: TIME, swapAvailableBytes: 0, swapUsageBytes: 0 },
    ]);
  });

  test('is left out if the cgroups do not count it', async () => {
    expect(await ofPod()).toEqual([undefined, undefined]);
  });

  test('is zero if the node has no swap, whatever the cgroups count', async () => {
    bed.meminfo({ MemTotal: 1000 * MIB, SwapTotal: 0, SwapFree: 0 });
    const none = { time: TIME, swapUsageBytes: 0 };
    expect(await ofPod()).toEqual([none, none]);
    rmSync(bed.cgroups.path('v2', GROUP, 'id'), { recursive: true });
    expect(await ofPod()).toEqual([none, undefined]);
  });
});
