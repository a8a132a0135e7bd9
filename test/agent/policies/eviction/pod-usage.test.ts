import { describe, expect, test } from '@jest/globals';
import {
  exceededStorageLimit,
  podUsage,
  statsByUID,
} from '../../../../src/agent/policies/eviction/pod-usage.ts';
import type { PodStats } from '../../../../src/types/stats.ts';
import { requestingPod, type RequestingPod } from '../../../support/admission.ts';
import { doingIO, MI, statsOf, summaryOf, usingMemory } from '../../../support/eviction.ts';

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

const SHARED = { dedicatedImageFs: false };

function exceeded(pod: RequestingPod, stats: Omit<PodStats, 'podRef'>, layout = SHARED) {
  return exceededStorageLimit(requestingPod('a', pod), statsOf('a', stats), layout);
}

const limited = (limit: string) => ({ limits: { 'ephemeral-storage': limit } });

const scratch = (sizeLimit?: string, medium?: string) => ({
  volumes: [{ name: 'scratch', emptyDir: { ...(sizeLimit && { sizeLimit }), ...(medium && { medium }) } }],
});

const volume = (usedBytes: number) => ({ volume: [{ name: 'scratch', usedBytes }] });

describe('an emptyDir', () => {
  test('may use its limit, and no more', () => {
    expect(exceeded(scratch('1Ki'), volume(1024))).toBeUndefined();
    expect(exceeded(scratch('1Ki'), volume(1025))).toEqual({
      signal: 'emptydirfs.limit',
      message: 'Usage of EmptyDir volume "scratch" exceeds the limit "1Ki". ',
      used: '1025',
      limit: '1Ki',
    });
  });

  test('has its limit in memory too', () => {
    expect(exceeded(scratch('1Ki', 'Memory'), volume(2048))?.signal).toBe('emptydirfs.limit');
  });

  test.each([
    ['no limit', scratch(), volume(2048)],
    ['a limit of zero', scratch('0'), volume(2048)],
    ['no measure', scratch('1Ki'), { volume: [{ name: 'scratch' }] }],
  ])('with %s never exceeds', (_, pod, stats) => {
    expect(exceeded(pod, stats)).toBeUndefined();
  });
});

describe('a pod', () => {
  test('may use the sum of the limits of its containers, and no more', () => {
    expect(exceeded(limited('1k'), { 'ephemeral-storage': { usedBytes: 1000 } })).toBeUndefined();
    expect(exceeded(limited('1k'), { 'ephemeral-storage': { usedBytes: 1001 } })).toMatchObject({
      signal: 'ephemeralpodfs.limit',
      message: 'Pod ephemeral local storage usage exceeds the total limit of containers 1k. ',
    });
  });

  test('without such limits never exceeds', () => {
    expect(exceeded({}, { 'ephemeral-storage': { usedBytes: 1e15 } })).toBeUndefined();
  });

  test('with a limit of zero may use nothing', () => {
    expect(exceeded(limited('0'), { 'ephemeral-storage': { usedBytes: 1 } })?.limit).toBe('0');
  });
});

describe('a container', () => {
  const main = (rootfs: number, logs: number) => ({
    containers: [{ name: 'main', rootfs: { usedBytes: rootfs }, logs: { usedBytes: logs } }],
  });

  test('may have logs and a writable layer up to its limit', () => {
    expect(exceeded(limited('1k'), main(500, 500))).toBeUndefined();
    expect(exceeded(limited('1k'), main(501, 500))).toMatchObject({
      signal: 'ephemeralcontainerfs.limit',
      message: 'Container main exceeded its local ephemeral storage limit "1k". ',
      used: '1001',
    });
  });

  test('has only its logs counted if layers are on the file system of images', () => {
    const layout = { dedicatedImageFs: true };
    expect(exceeded(limited('1k'), main(5000, 1000), layout)).toBeUndefined();
    expect(exceeded(limited('1k'), main(0, 1001), layout)?.used).toBe('1001');
  });

  test('that is unknown, or has a limit of zero, never exceeds', () => {
    expect(
      exceeded(limited('1k'), { containers: [{ name: 'x', logs: { usedBytes: 5000 } }] }),
    ).toBeUndefined();
    expect(exceeded(limited('0'), main(0, 10))).toBeUndefined();
  });
});

test('the first limit that is exceeded counts: emptyDir, pod, container', () => {
  const stats = {
    ...volume(2048),
    'ephemeral-storage': { usedBytes: 5000 },
    containers: [{ name: 'main', logs: { usedBytes: 5000 } }],
  };
  const signals = [{ ...scratch('1Ki'), ...limited('1k') }, limited('1k')].map(
    (pod) => exceeded(pod, stats)?.signal,
  );
  expect(signals).toEqual(['emptydirfs.limit', 'ephemeralpodfs.limit']);
});
