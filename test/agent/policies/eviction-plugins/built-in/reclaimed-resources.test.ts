import { describe, expect, test } from '@jest/globals';
import {
  RECLAIMED_MEMORY,
  RECLAIMED_MILLICPU,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-pods.ts';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import {
  reclaimableResources,
  reclaimedThreshold,
  reclaimedToNotify,
  reclaimedVictims,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/reclaimed-resources.ts';
import type { PodStats } from '../../../../../src/types/stats.ts';
import { podNames, qosPod } from '../../../../support/qos-pod.ts';

const settings = DEFAULT_BUILT_IN_SETTINGS.reclaimedResources;
const GIB = 2 ** 30;
const batch = (name: string, milliCPU: string, memory = '0', annotations = {}) =>
  qosPod(name, {
    level: 'reclaimed_cores',
    requests: { [RECLAIMED_MILLICPU]: milliCPU, [RECLAIMED_MEMORY]: memory },
    annotations,
  });
const stats = (name: string, usageNanoCores?: number, workingSetBytes?: number): [string, PodStats] => [
  `uid-${name}`,
  {
    podRef: { name, namespace: 'default', uid: `uid-${name}` },
    ...(usageNanoCores !== undefined && { cpu: { usageNanoCores } }),
    ...(workingSetBytes !== undefined && { memory: { workingSetBytes } }),
  },
];

describe('the amount that the node can give to reclaimed pods', () => {
  const allocatable = { cpu: '4', memory: '10Gi' };

  test('is allocatable without a tenth, less the usage of other pods', () => {
    const pods = [qosPod('web'), batch('batch', '1k')];
    const measured = new Map([stats('web', 1_500_000_000, GIB), stats('batch', 9e9, 9 * GIB)]);
    expect(reclaimableResources({ allocatable, pods, stats: measured })).toEqual(
      new Map([
        [RECLAIMED_MILLICPU, 3600 - 1500],
        [RECLAIMED_MEMORY, 8 * GIB],
      ]),
    );
  });

  test('counts pods that plugins do not see, and the requests of a pod that is not measured', () => {
    const pods = [qosPod('new', { requests: { cpu: '500m', memory: '2Gi' } })];
    const measured = new Map([stats('hidden', 1_000_000_000, GIB), stats('new', undefined, GIB)]);
    expect(reclaimableResources({ allocatable, pods, stats: measured })).toEqual(
      new Map([
        [RECLAIMED_MILLICPU, 3600 - 1000 - 500],
        [RECLAIMED_MEMORY, 7 * GIB],
      ]),
    );
  });

  test('is never below zero, and unknown for a resource that the node does not have', () => {
    const measured = new Map([stats('web', 9e9)]);
    expect(reclaimableResources({ allocatable: { cpu: '4' }, pods: [], stats: measured })).toEqual(
      new Map([[RECLAIMED_MILLICPU, 0]]),
    );
  });
});

describe('the threshold', () => {
  const canGive = new Map([
    [RECLAIMED_MILLICPU, 1000],
    [RECLAIMED_MEMORY, 2 * GIB],
  ]);
  const of = (...pods: Parameters<typeof reclaimedThreshold>[0]) =>
    reclaimedThreshold(pods, canGive, settings);

  test.each([
    [
      'as much as five times what can be given is only soft',
      '5k',
      '0',
      'SOFT_MET',
      RECLAIMED_MILLICPU,
      1500,
      5000,
    ],
    ['more than that is hard', '5001', '0', 'HARD_MET', RECLAIMED_MILLICPU, 5000, 5001],
    ['memory counts too', '0', '11Gi', 'HARD_MET', RECLAIMED_MEMORY, 10 * GIB, 11 * GIB],
    [
      'hard memory comes before soft processor time',
      '2k',
      '11Gi',
      'HARD_MET',
      RECLAIMED_MEMORY,
      10 * GIB,
      11 * GIB,
    ],
  ])('%s', (_, milliCPU, memory, metType, scope, thresholdValue, observedValue) => {
    expect(of(batch('a', milliCPU, memory))).toEqual({
      metType,
      scope,
      thresholdValue,
      observedValue,
      gracePeriodSeconds: 60,
    });
  });

  test('counts all reclaimed pods together, and no others', () => {
    expect(of(batch('a', '750'), batch('b', '750'))).toBeUndefined();
    expect(of(batch('a', '750'), batch('b', '751'))).toMatchObject({ observedValue: 1501 });
    const other = qosPod('web', { requests: { [RECLAIMED_MILLICPU]: '9k' } });
    expect(of(other)).toBeUndefined();
  });

  test('is not met by a resource whose available amount is unknown', () => {
    expect(reclaimedThreshold([batch('a', '9k')], new Map(), settings)).toBeUndefined();
  });

  test('is met by any request if nothing is available', () => {
    expect(reclaimedThreshold([batch('a', '1')], new Map([[RECLAIMED_MILLICPU, 0]]), settings)).toMatchObject(
      {
        metType: 'HARD_MET',
        thresholdValue: 0,
      },
    );
  });

  test('is not met for a resource that is skipped at zero, as long as nothing is available', () => {
    const met = (milliCPU: number) =>
      reclaimedThreshold([batch('a', '9k')], new Map([[RECLAIMED_MILLICPU, milliCPU]]), {
        ...settings,
        skippedAtZero: [RECLAIMED_MILLICPU],
      })?.metType;
    expect([met(0), met(1)]).toEqual([undefined, 'HARD_MET']);
  });
});

test('the reclaimed pods that request most of the resource are evicted first', () => {
  const pods = [
    qosPod('web'),
    batch('a', '10', '5'),
    batch('b', '30', '1'),
    batch('c', '20', '9'),
    batch('d', '20'),
  ];
  expect(podNames(reclaimedVictims(pods, RECLAIMED_MILLICPU, 3))).toEqual(['b', 'd', 'c']);
  expect(podNames(reclaimedVictims(pods, RECLAIMED_MEMORY, 1))).toEqual(['c']);
  const critical = {
    ...batch('critical', '99'),
    spec: { ...batch('critical', '99').spec, priority: 2_000_000_000 },
  };
  expect(reclaimedVictims([critical], RECLAIMED_MILLICPU, 1)).toEqual([]);
});

test('pods that ask for notices are named if they do not fit under the soft threshold, and at least one', () => {
  const notify = { 'katalyst.kubewharf.io/pod_soft_evict_notify': 'true' };
  const pods = [
    batch('quiet', '9k'),
    batch('a', '700', '0', notify),
    batch('b', '600', '0', notify),
    batch('c', '500', '0', notify),
  ];
  const told = (total: number) =>
    podNames(reclaimedToNotify(pods, RECLAIMED_MILLICPU, new Map([[RECLAIMED_MILLICPU, total]]), settings));
  expect(told(1000)).toEqual(['a']);
  expect(told(600)).toEqual(['a', 'b']);
  expect(told(10)).toEqual(['a', 'b', 'c']);
  expect(told(9000)).toEqual(['a']);
  expect(reclaimedToNotify(pods, RECLAIMED_MILLICPU, new Map(), settings)).toEqual([]);
  const full = [batch('d', '1500', '0', notify), batch('e', '1500', '0', notify)];
  const canGive = new Map([[RECLAIMED_MILLICPU, 1000]]);
  expect(podNames(reclaimedToNotify(full, RECLAIMED_MILLICPU, canGive, settings))).toEqual(['e', 'd']);
});
