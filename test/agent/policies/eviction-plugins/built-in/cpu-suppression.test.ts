import { expect, test } from '@jest/globals';
import { RECLAIMED_MILLICPU } from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-pods.ts';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import {
  suppressedPods,
  type SuppressionKept,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/cpu-suppression.ts';
import type { Pod } from '../../../../../src/types/kubernetes.ts';
import { podNames, qosPod } from '../../../../support/qos-pod.ts';

const settings = DEFAULT_BUILT_IN_SETTINGS;
const batch = (name: string, milliCPU: string, fields: Partial<Parameters<typeof qosPod>[1]> = {}) =>
  qosPod(name, { level: 'reclaimed_cores', requests: { [RECLAIMED_MILLICPU]: milliCPU }, ...fields });
const tolerates = (rate: string) => ({
  annotations: {
    'katalyst.kubewharf.io/cpu_enhancement': JSON.stringify({ suppression_tolerance_rate: rate }),
  },
});

/** Who is a candidate after each of these minutes, where the node can give so much. */
function candidates(pods: readonly Pod[], supplies: readonly number[], minutes = 1) {
  let kept: SuppressionKept = new Map();
  return supplies.map((milliCPU, index) => {
    const found = suppressedPods(milliCPU, { pods, settings, nowMs: 1e9 + index * minutes * 60_000 }, kept);
    kept = found.kept;
    return podNames(found.evictPods.map(({ pod }) => pod));
  });
}

test('a pod that gets a fifth of what it requests for more than five minutes is a candidate', () => {
  expect(candidates([batch('a', '1k')], [199, 199, 199, 199, 199, 199, 199]).slice(-2)).toEqual([[], ['a']]);
  expect(candidates([batch('a', '1k')], [200, 200, 200, 200, 200, 200, 200]).flat()).toEqual([]);
});

test('the time starts again when there is enough CPU', () => {
  expect(candidates([batch('a', '1k')], [100, 900, 100], 5).flat()).toEqual([]);
  expect(candidates([batch('a', '1k')], [100, 100, 100], 5)).toEqual([[], [], ['a']]);
});

test('a pod tolerates what its annotation allows, and no more than the settings allow', () => {
  const pods = [batch('patient', '100', tolerates('9')), batch('proud', '100', tolerates('1.2'))];
  expect(candidates(pods, [150, 150, 150], 5).at(-1)).toEqual(['proud']);
  expect(candidates(pods, [10, 10, 10], 5).at(-1)).toEqual(['patient', 'proud']);
  const odd = [batch('odd', '100', tolerates('much')), batch('none', '100', tolerates('-1'))];
  expect(candidates(odd, [40, 40, 40], 5).flat()).toEqual([]);
});

test('pods that request most come first, and the other pods stay if that is enough', () => {
  const pods = [batch('small', '100'), batch('large', '900'), qosPod('web', { requests: { cpu: '9' } })];
  expect(candidates(pods, [150, 150, 150], 5).at(-1)).toEqual(['large']);
  expect(candidates(pods, [0, 0, 0], 5).at(-1)).toEqual(['large', 'small']);
});

test('pods that may not be evicted, or request nothing, are left alone', () => {
  const pods = [batch('critical', '100', { priority: 2_000_000_000 }), batch('none', '0')];
  expect(candidates(pods, [1, 1, 1], 5).flat()).toEqual([]);
});

test('the reason has the figures', () => {
  const [found] = suppressedPods(
    100,
    { pods: [batch('a', '1k')], settings, nowMs: 1e9 },
    new Map([['uid-a', 0]]),
  ).evictPods;
  expect(found).toMatchObject({
    reason:
      'reclaimed pods request 10.00 times the processor time that the node can give, and it tolerates 5.00 times',
    forceEvict: false,
  });
});
