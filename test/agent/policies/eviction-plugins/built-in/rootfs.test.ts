import { describe, expect, test } from '@jest/globals';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import {
  judgeRootfs,
  rootfsOf,
  rootfsOveruse,
  rootfsVictims,
} from '../../../../../src/agent/policies/eviction-plugins/built-in/rootfs.ts';
import type {
  RootfsOveruseSettings,
  RootfsPressureSettings,
} from '../../../../../src/types/built-in-thresholds.ts';
import type { FsStats, PodStats } from '../../../../../src/types/stats.ts';
import { podNames, qosPod } from '../../../../support/qos-pod.ts';

const GIB = 2 ** 30;
const fs: FsStats = { capacityBytes: 200 * GIB, availableBytes: 20 * GIB, inodes: 1000, inodesFree: 100 };
const reclaimed = { level: 'reclaimed_cores' } as const;

const withPressure = (fields: Partial<RootfsPressureSettings>) => ({
  ...DEFAULT_BUILT_IN_SETTINGS,
  rootfsPressure: { ...DEFAULT_BUILT_IN_SETTINGS.rootfsPressure, ...fields },
});

/** A pod with two containers, which have written so much. */
function wrote(name: string, gibibytes: number, inodesUsed = 0): [string, PodStats] {
  const half = { usedBytes: (gibibytes * GIB) / 2, inodesUsed: inodesUsed / 2 };
  const podRef = { name, namespace: 'default', uid: `uid-${name}` };
  const containers = ['main', 'side'].map((container) => ({ name: container, rootfs: half }));
  return [podRef.uid, { podRef, containers }];
}

test('the file system is that of writable layers, else of images, else that of the root folder', () => {
  const [one, two, three] = [1, 2, 3].map((capacityBytes) => ({ capacityBytes }));
  expect(rootfsOf({ runtime: { containerFs: one!, imageFs: two! }, fs: three! })).toBe(one);
  expect(rootfsOf({ runtime: { imageFs: two! }, fs: three! })).toBe(two);
  expect(rootfsOf({ fs: three! })).toBe(three);
});

describe('pressure', () => {
  test.each<[string, Partial<RootfsPressureSettings>, Partial<FsStats>, unknown]>([
    ['less than an amount', { minimumFree: '21Gi' }, {}, [21 * GIB, 20 * GIB]],
    ['as much as that', { minimumFree: '20Gi' }, {}, undefined],
    ['less than a part', { minimumFree: '11%' }, {}, [22 * GIB, 20 * GIB]],
    ['as much as that part', { minimumFree: '10%' }, {}, undefined],
    ['nothing to compare with', {}, { availableBytes: 0, inodesFree: 0 }, undefined],
    ['too few inodes', { minimumInodesFree: '101' }, {}, [101, 100]],
    ['too small a part of inodes', { minimumInodesFree: '50%' }, {}, [500, 100]],
    ['space of a small file system', { minimumFree: '90%', minimumCapacityBytes: 201 * GIB }, {}, undefined],
    ['figures that are missing', { minimumFree: '90%' }, { availableBytes: undefined! }, undefined],
  ])('%s', (_, pressure, found, values) => {
    const { met } = judgeRootfs({ ...fs, ...found }, { settings: withPressure(pressure) });
    expect(met && [met.thresholdValue, met.observedValue]).toEqual(values);
  });

  test('is hard, and the node accepts no more pods', () => {
    expect(judgeRootfs(fs, { settings: withPressure({ minimumFree: '50%' }) })).toMatchObject({
      kept: 'space',
      met: {
        metType: 'HARD_MET',
        scope: 'SystemRootfs',
        condition: { name: 'SystemRootfs', effects: ['NoSchedule'] },
      },
    });
  });

  describe('the pods that pressure evicts are', () => {
    const pods = [
      qosPod('web'),
      qosPod('large'),
      qosPod('batch', reclaimed),
      qosPod('small', reclaimed),
      qosPod('new'),
      qosPod('system', { level: 'system_cores' }),
    ];
    const stats = new Map([
      wrote('web', 8, 4),
      wrote('large', 30, 2),
      wrote('batch', 6, 90),
      wrote('small', 1, 8),
      wrote('system', 99, 99),
    ]);
    const victims = (
      pressure: Partial<RootfsPressureSettings>,
      kept: 'space' | 'inodes' = 'space',
      topN = 9,
    ) =>
      podNames(
        rootfsVictims(
          { fs, stats },
          { pods, settings: withPressure(pressure), nowMs: 0, scope: 'SystemRootfs', topN },
          kept,
        ).pods,
      );

    test('the pod that has written most; a pod that is not measured stays', () => {
      expect(victims({})).toEqual(['large', 'web', 'batch', 'small']);
      expect(victims({}, 'space', 1)).toEqual(['large']);
      expect(victims({}, 'inodes')).toEqual(['batch', 'small', 'web', 'large']);
    });

    test('none that has written little', () => {
      expect(victims({ podMinimumUsed: '8Gi' })).toEqual(['large', 'web']);
      expect(victims({ podMinimumUsed: '4%' })).toEqual(['large', 'web']);
      expect(victims({ podMinimumInodesUsed: '8' }, 'inodes')).toEqual(['batch', 'small']);
    });

    test('reclaimed pods that have written much before all others', () => {
      expect(victims({ reclaimedPriorityUsed: '5Gi', podMinimumUsed: '8Gi' })).toEqual([
        'batch',
        'large',
        'web',
      ]);
      expect(victims({ reclaimedPriorityInodesUsed: '0.7%' }, 'inodes')).toEqual([
        'batch',
        'small',
        'web',
        'large',
      ]);
    });
  });

  test('plain processes have no layers: their storage counts', () => {
    const podRef = { name: 'web', namespace: 'default', uid: 'uid-web' };
    const stats = new Map<string, PodStats>([['uid-web', { podRef, 'ephemeral-storage': { usedBytes: 1 } }]]);
    const asked = { pods: [qosPod('web')], settings: withPressure({}), nowMs: 0, scope: '', topN: 1 };
    expect(podNames(rootfsVictims({ fs, stats }, asked, 'space').pods)).toEqual(['web']);
  });
});

describe('overuse', () => {
  const candidates = (
    fields: Partial<RootfsOveruseSettings>,
    pods = [qosPod('web'), qosPod('batch', reclaimed)],
  ) => {
    const rootfsOveruseSettings = { ...DEFAULT_BUILT_IN_SETTINGS.rootfsOveruse, ...fields };
    const settings = { ...DEFAULT_BUILT_IN_SETTINGS, rootfsOveruse: rootfsOveruseSettings };
    const stats = new Map([wrote('web', 30), wrote('other', 50), wrote('batch', 40)]);
    return rootfsOveruse({ fs, stats }, { pods, settings, nowMs: 0 }).evictPods;
  };
  const names = (...parameters: Parameters<typeof candidates>) =>
    podNames(candidates(...parameters).map(({ pod }) => pod));
  const all = { qosLevels: ['shared_cores', 'reclaimed_cores'], count: 9 };

  test('a pod that has written more than its level allows is a candidate', () => {
    expect(candidates({ sharedThreshold: '25Gi' })).toEqual([
      { pod: expect.anything(), reason: 'it has written 30Gi, and may write 25Gi', forceEvict: false },
    ]);
    expect(names({ sharedThreshold: '30Gi' })).toEqual([]);
    expect(names({ ...all, sharedThreshold: '25Gi', reclaimedThreshold: '19%' })).toEqual(['batch', 'web']);
    expect(names({ ...all, sharedThreshold: '25Gi', reclaimedThreshold: '19%', count: 1 })).toEqual([
      'batch',
    ]);
  });

  test('only levels and namespaces of the settings are compared', () => {
    expect(names({ sharedThreshold: '25Gi', reclaimedThreshold: '25Gi' })).toEqual(['web']);
    expect(names({ sharedThreshold: '25Gi', sharedNamespaces: ['prod'] })).toEqual([]);
    expect(names({ ...all })).toEqual([]);
    expect(names({ ...all, sharedThreshold: '25Gi' }, [qosPod('web', { level: 'dedicated_cores' })])).toEqual(
      [],
    );
  });

  test('20Gi, or a tenth, may always be written', () => {
    const small = new Map([wrote('web', 20)]);
    const settings = (sharedThreshold: string) => ({
      ...DEFAULT_BUILT_IN_SETTINGS,
      rootfsOveruse: { ...DEFAULT_BUILT_IN_SETTINGS.rootfsOveruse, sharedThreshold },
    });
    for (const text of ['1Gi', '1%']) {
      const asked = { pods: [qosPod('web')], settings: settings(text), nowMs: 0 };
      expect(rootfsOveruse({ fs, stats: small }, asked).evictPods).toEqual([]);
    }
  });
});
