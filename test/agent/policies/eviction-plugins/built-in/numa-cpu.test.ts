import { expect, test } from '@jest/globals';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import {
  judgeNumaCpu,
  NO_NUMA_CPU,
  numaCpuVictims,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/numa-cpu.ts';
import type { NumaNodeCpu } from '../../../../../src/types/eviction-plugin.ts';
import { podNames, qosPod } from '../../../../support/qos-pod.ts';

const settings = DEFAULT_BUILT_IN_SETTINGS;

/** Two nodes of eight CPUs, which were busy for these parts of each 15 seconds. */
function judged(shares: readonly (readonly [number, number])[], everyMs = 15_000) {
  let kept = NO_NUMA_CPU;
  const none = { cpus: 8, busyTicks: 0, systemTicks: 0, totalTicks: 0 };
  let nodes: readonly NumaNodeCpu[] = [0, 1].map((id) => ({ id, ...none }));
  const results = [[0, 0] as const, ...shares].map((ofNodes, index) => {
    nodes = nodes.map(({ id, busyTicks, totalTicks }) => ({
      ...{ id, ...none },
      busyTicks: busyTicks + 1000 * (ofNodes[id] ?? 0),
      totalTicks: totalTicks + 1000,
    }));
    const found = judgeNumaCpu(nodes, { pods: [], settings, nowMs: 1e9 + index * everyMs }, kept);
    kept = found.kept;
    return found.met;
  });
  return { results: results.slice(1), kept };
}
const times = (count: number, first: number, second: number) =>
  Array.from({ length: count }, () => [first, second] as const);
const isMet = (shares: readonly (readonly [number, number])[], everyMs?: number) =>
  judged(shares, everyMs).results.map((met) => met !== undefined);

test('a NUMA node that is above 1.1 times 0.55 in three readings of four leads to an eviction', () => {
  expect(isMet(times(4, 0.61, 0.1))).toEqual([false, false, true, true]);
  expect(isMet(times(4, 0.6, 0.1))).toEqual([false, false, false, false]);
  const { results } = judged(times(3, 0.7, 0.1));
  expect(results.at(-1)).toMatchObject({ metType: 'HARD_MET', scope: 'cpu.usage.container' });
  expect(results.at(-1)?.thresholdValue).toBeCloseTo(0.605);
  expect(results.at(-1)?.observedValue).toBeCloseTo(0.7);
});

test('the node accepts no more pods only if all of its NUMA nodes are above the threshold', () => {
  const last = (shares: readonly (readonly [number, number])[]) =>
    judged(shares).results.at(-1)?.condition?.name;
  expect(last(times(3, 0.7, 0.1))).toBeUndefined();
  expect(last(times(3, 0.7, 0.9))).toBe('NumaCPUPressure');
});

test('readings are 15 seconds apart, however often the plugin is called', () => {
  expect(isMet(times(9, 0.9, 0.1), 5000).indexOf(true)).toBe(8);
});

test('one low reading of four does not end the pressure, two do', () => {
  expect(isMet([...times(4, 0.9, 0), [0, 0], [0, 0]]).slice(-3)).toEqual([true, true, false]);
});

const pods = [
  qosPod('bound-0', {}),
  qosPod('large-1', {}),
  qosPod('right-1', {}),
  qosPod('daemon-1', {}),
  qosPod('free', {}),
  qosPod('says-1', { annotations: { 'katalyst.kubewharf.io/numa_bind_result': '1' }, priority: 3 }),
  qosPod('system', { level: 'system_cores', annotations: { 'katalyst.kubewharf.io/numa_bind_result': '1' } }),
];
const numaNodes = new Map([
  ['uid-bound-0', 0],
  ['uid-large-1', 1],
  ['uid-right-1', 1],
  ['uid-daemon-1', 1],
]);
const cores: Readonly<Record<string, number>> = {
  'bound-0': 2,
  'large-1': 6,
  'right-1': 2,
  'daemon-1': 1.9,
  free: 1.9,
  'says-1': 2,
  system: 2,
};
const owned = pods.map((pod) =>
  pod.metadata.name === 'daemon-1'
    ? {
        ...pod,
        metadata: {
          ...pod.metadata,
          ownerReferences: [{ kind: 'DaemonSet', name: 'd', uid: 'd', apiVersion: 'apps/v1' }],
        },
      }
    : pod,
);

function victims(shares: readonly (readonly [number, number])[], skippedPodKinds: readonly string[] = []) {
  const { kept } = judged(shares);
  const asked = {
    pods: owned,
    settings: { ...settings, numaCpu: { ...settings.numaCpu, skippedPodKinds } },
    nowMs: 1e9,
    scope: 'cpu.usage.container',
    topN: 9,
  };
  return podNames(
    numaCpuVictims({ numaNodes, usedCores: ({ metadata }) => cores[metadata.name] }, asked, kept).pods,
  );
}

test('the evicted pod is the one on that NUMA node whose use is nearest to the excess, after those of lower priority', () => {
  // Too much: 0.8 - 0.55 of eight CPUs, two.
  expect(victims(times(4, 0.1, 0.8))).toEqual(['right-1', 'daemon-1', 'large-1', 'says-1']);
  expect(victims(times(4, 0.1, 0.8), ['DaemonSet'])).toEqual(['right-1', 'large-1', 'says-1']);
});

test('pods without a NUMA node are evicted only if all nodes are above the threshold', () => {
  expect(victims(times(4, 0.7, 0.8))).toContain('free');
  expect(victims(times(4, 0.7, 0.8))).not.toContain('bound-0');
});

test('without such a node no pod is evicted', () => {
  expect(victims(times(4, 0.1, 0.1))).toEqual([]);
});
