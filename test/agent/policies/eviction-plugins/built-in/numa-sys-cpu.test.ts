import { expect, test } from '@jest/globals';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import {
  isReadingDue,
  judgeNumaSysCpu,
  NO_NUMA_SYS_CPU,
  numaSysCpuVictims,
  withReading,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/numa-sys-cpu.ts';
import type { NumaNodeCpu, PodCpuTime } from '../../../../../src/types/eviction-plugin.ts';
import { podNames, qosPod } from '../../../../support/qos-pod.ts';

const settings = DEFAULT_BUILT_IN_SETTINGS;
const asked = { pods: [], settings, nowMs: 1e9 };

/** Parts of the time in which a node was busy, and in which the kernel worked. */
type Shares = readonly [usage: number, system: number];

/** Two nodes of eight CPUs, over periods of ten seconds; pods have used so much in each of them. */
function judged(periods: readonly (readonly Shares[])[], used: Readonly<Record<string, PodCpuTime>> = {}) {
  let kept = NO_NUMA_SYS_CPU;
  const ticks = [0, 1].map(() => ({ busyTicks: 0, systemTicks: 0, totalTicks: 0 }));
  const results = [[], ...periods].map((ofNodes: readonly Shares[], index) => {
    const nodes = ticks.map((of, id): NumaNodeCpu => {
      const [usage = 0, system = 0] = ofNodes[id] ?? [];
      of.busyTicks += 1000 * usage;
      of.systemTicks += 1000 * system;
      of.totalTicks += 1000;
      return { id, cpus: 8, ...of };
    });
    const times = new Map(
      Object.entries(used).map(([name, { usage, system }]) => [
        `uid-${name}`,
        { usage: usage * index, system: system * index },
      ]),
    );
    const now = { ...asked, nowMs: asked.nowMs + index * 10_000 };
    expect(isReadingDue(now, kept)).toBe(true);
    kept = withReading({ nodes, times }, now, kept);
    expect(isReadingDue({ ...now, nowMs: now.nowMs + 9_999 }, kept)).toBe(false);
    return judgeNumaSysCpu(now, kept).met;
  });
  return { results: results.slice(1), kept };
}
const times = (count: number, first: Shares, second: Shares) =>
  Array.from({ length: count }, () => [first, second]);
const types = (periods: readonly (readonly Shares[])[]) =>
  judged(periods).results.map((met) => met?.metType ?? 'NOT_MET');

test('a node that is used for more than half in three readings of four, half of it by the kernel, leads to an eviction', () => {
  expect(types(times(4, [0.6, 0.3], [0, 0]))).toEqual(['NOT_MET', 'NOT_MET', 'HARD_MET', 'HARD_MET']);
  const { results } = judged(times(3, [0.1, 0], [0.6, 0.36]));
  expect(results.at(-1)).toMatchObject({
    metType: 'HARD_MET',
    scope: 'cpu.usage.sys.container',
    thresholdValue: 0.5,
    condition: { name: 'NumaSysCPUPressure', effects: ['NoSchedule'] },
  });
  expect(results.at(-1)?.observedValue).toBeCloseTo(0.6);
});

test('between the two thresholds the node is tainted, and no pod is evicted', () => {
  const { results, kept } = judged(times(4, [0.45, 0.3], [0, 0]), { pod: { usage: 9, system: 9 } });
  expect(results.at(-1)).toMatchObject({ metType: 'SOFT_MET', thresholdValue: 0.4 });
  const pods = [qosPod('pod', {})];
  const all = { ...asked, pods, scope: '', topN: 9 };
  expect(numaSysCpuVictims(new Map([['uid-pod', 0]]), all, kept).pods).toEqual([]);
});

test('programs that are busy by themselves, and a kernel that is busy on an idle node, lead to no eviction', () => {
  expect(types(times(4, [0.9, 0.3], [0.3, 0.3]))).toEqual(Array(4).fill('NOT_MET'));
});

const pods = ['little', 'much', 'most', 'program', 'other-node', 'free', 'new'].map((name) =>
  qosPod(name, {}),
);
const system = qosPod('system', {
  level: 'system_cores',
  annotations: { 'katalyst.kubewharf.io/numa_bind_result': '1' },
});
const numaNodes = new Map([
  ...['little', 'much', 'most', 'program', 'new'].map((name) => [`uid-${name}`, 1] as const),
  ['uid-other-node', 0],
]);
const used = {
  little: { usage: 100, system: 30 },
  much: { usage: 2000, system: 600 },
  most: { usage: 1000, system: 900 },
  program: { usage: 9000, system: 2600 },
  'other-node': { usage: 9000, system: 9000 },
  free: { usage: 9000, system: 9000 },
  system: { usage: 9000, system: 9000 },
};

test('of the pods on that node, the one with the largest share of kernel time is evicted, if that is a third of its time', () => {
  const { kept } = judged(times(4, [0.1, 0], [0.8, 0.6]), used);
  const all = { ...asked, pods: [...pods, system], scope: '' };
  const victims = (topN: number) => podNames(numaSysCpuVictims(numaNodes, { ...all, topN }, kept).pods);
  expect([victims(9), victims(1)]).toEqual([['most', 'much', 'little'], ['most']]);
});
