import { describe, expect, test } from '@jest/globals';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import {
  judgeLoad,
  loadVictims,
  NO_LOAD,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/cpu-load.ts';
import type { MachineLoad } from '../../../../../src/types/eviction-plugin.ts';
import { podNames, qosPod } from '../../../../support/qos-pod.ts';

const settings = DEFAULT_BUILT_IN_SETTINGS;
const waited = (avg10: number) => ({ some: { total: 0, avg10, avg60: 0, avg300: 0 } });

/** What is met after readings of these loads, on four CPUs. */
function met(
  loads: readonly number[],
  { psi, everyMs = 30_000 }: Partial<MachineLoad> & { everyMs?: number } = {},
) {
  let kept = NO_LOAD;
  return loads.map((load1, index) => {
    const asked = { pods: [], settings, nowMs: 1e9 + index * everyMs };
    const judged = judgeLoad({ load1, cpus: 4, ...(psi && { psi }) }, asked, kept);
    kept = judged.kept;
    return judged.met;
  });
}
const types = (...parameters: Parameters<typeof met>) => met(...parameters).map((one) => one?.metType ?? '-');
const times = (count: number, load: number) => Array.from({ length: count }, () => load);

test('eight readings of ten above 1.8 times the CPUs lead to an eviction, and the node accepts no more pods', () => {
  expect(types(times(9, 7.3))).toEqual([...times(7, 0).map(() => '-'), 'HARD_MET', 'HARD_MET']);
  expect(met(times(8, 7.3)).at(-1)).toEqual({
    metType: 'HARD_MET',
    scope: 'cpu.load.1min.container',
    thresholdValue: 7.2,
    observedValue: 7.3,
    condition: { name: 'CPUPressure', type: 'NODE_CONDITION', effects: ['NoSchedule'], met: true },
  });
});

test.each<[string, readonly number[], string]>([
  ['as much as the upper bound is not above it', times(10, 7.2), 'SOFT_MET'],
  ['above the lower bound no pod goes', times(8, 4.1), 'SOFT_MET'],
  ['as much as the lower bound is nothing', times(10, 4), '-'],
  ['two low readings of ten are too few to end it', [...times(8, 8), 0, 0], 'HARD_MET'],
  ['three are enough', [...times(8, 8), 0, 0, 0], '-'],
])('%s', (_, loads, last) => {
  expect(types(loads).at(-1)).toBe(last);
});

test('readings are half a minute apart, however often the plugin is called', () => {
  expect(types(times(50, 9), { everyMs: 5000 }).indexOf('HARD_MET')).toBe(7 * 6);
});

test('load of tasks that do not wait for a CPU is ignored', () => {
  expect(types(times(10, 9), { psi: waited(9.9) }).at(-1)).toBe('-');
  expect(types(times(10, 9), { psi: waited(10) }).at(-1)).toBe('HARD_MET');
});

describe('the evicted pods', () => {
  const pods = [
    qosPod('web', { priority: 5 }),
    qosPod('idle'),
    qosPod('busy'),
    qosPod('batch', { level: 'reclaimed_cores' }),
    qosPod('system', { level: 'system_cores' }),
  ];
  const cores: Readonly<Record<string, number>> = { web: 9, idle: 0.1, busy: 2, batch: 0.5, system: 99 };
  const asked = { pods, settings, nowMs: 1e9, scope: 'cpu.load.1min.container', topN: 9 };
  const chosen = (nowMs: number, kept = NO_LOAD) =>
    loadVictims(({ metadata }) => cores[metadata.name], { ...asked, nowMs }, kept);

  test('are reclaimed ones first, then those of lower priority, then the busiest', () => {
    expect(podNames(chosen(1e9).pods)).toEqual(['batch', 'busy', 'idle', 'web']);
    expect(chosen(1e9).gracePeriodSeconds).toBeUndefined();
  });

  test('are named again only after five minutes', () => {
    const { kept } = chosen(1e9);
    expect(podNames(chosen(1e9 + 299_999, kept).pods)).toEqual([]);
    expect(chosen(1e9 + 300_000, kept).pods).toHaveLength(4);
    expect(chosen(1e9 - 1, kept).pods).toHaveLength(4);
  });
});
