import { describe, expect, test } from '@jest/globals';
import { podUsage, statsByUID } from '../../../src/policies/eviction/pod-usage.ts';
import { requestingPod } from '../../support/admission.ts';
import { doingIO, MI, statsOf, summaryOf, usingMemory } from '../../support/eviction.ts';

const pod = requestingPod('a', {});

test('stats are found by the UID of the pod', () => {
  const stats = statsByUID(summaryOf({}, [usingMemory('a', 1), usingMemory('b', 2)]));
  expect(stats.get('b')?.memory?.workingSetBytes).toBe(2 * MI);
  expect(stats.get('c')).toBeUndefined();
});

test('memory, processes and I/O are those of the whole pod; a missing figure counts as 0', () => {
  expect(podUsage(pod, usingMemory('a', 3), 'memory', [])).toBe(3 * MI);
  expect(podUsage(pod, statsOf('a', { process_stats: { process_count: 7 } }), 'pids', [])).toBe(7);
  expect(podUsage(pod, doingIO('a', 9), 'io', [])).toBe(9);
  const nothing = statsOf('a', {});
  expect((['memory', 'pids', 'io'] as const).map((resource) => podUsage(pod, nothing, resource, []))).toEqual(
    [0, 0, 0],
  );
});

describe('disk usage', () => {
  const volumes = [
    { name: 'scratch', emptyDir: {} },
    { name: 'ram', emptyDir: { medium: 'Memory' } },
    { name: 'settings', configMap: { name: 'settings' } },
    { name: 'claim', persistentVolumeClaim: { claimName: 'claim' } },
  ];
  const writer = requestingPod('a', { volumes });
  const used = (usedBytes: number, inodesUsed: number) => ({ usedBytes, inodesUsed });
  const stats = statsOf('a', {
    containers: [
      { name: 'main', rootfs: used(1, 1), logs: used(20, 2) },
      { name: 'side', rootfs: used(300, 3) },
    ],
    volume: [
      { name: 'scratch', ...used(4_000, 4) },
      { name: 'ram', ...used(50_000, 5) },
      { name: 'settings', ...used(600_000, 6) },
      { name: 'claim', ...used(7_000_000, 7) },
    ],
  });
  const usage = (parts: Parameters<typeof podUsage>[3], resource: 'ephemeral-storage' | 'inodes') =>
    podUsage(writer, stats, resource, parts);

  test('includes only the parts on the disk that is short', () => {
    expect(usage(['root'], 'ephemeral-storage')).toBe(301);
    expect(usage(['logs'], 'ephemeral-storage')).toBe(20);
    expect(usage([], 'ephemeral-storage')).toBe(0);
  });

  test('includes volumes on a disk of the node: no memory, no claims', () => {
    expect(usage(['localVolumeSource'], 'ephemeral-storage')).toBe(604_000);
  });

  test('is in inodes if inodes are short', () => {
    expect(usage(['root', 'logs', 'localVolumeSource'], 'inodes')).toBe(1 + 2 + 3 + 4 + 6);
  });
});
