import { describe, expect, test } from '@jest/globals';
import type { PodFsPart } from '../../../src/policies/eviction/file-system-parts.ts';
import { rankForEviction } from '../../../src/policies/eviction/ranking.ts';
import type { StarvedResource } from '../../../src/policies/eviction/signals.ts';
import { podUsage, statsByUID } from '../../../src/policies/eviction/pod-usage.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { PodStats } from '../../../src/types/stats.ts';
import { requestingPod } from '../../support/admission.ts';
import { MI, statsOf, summaryOf, usingMemory } from '../../support/eviction.ts';

function ranked(resource: StarvedResource, pods: readonly Pod[], stats: readonly PodStats[]): string[] {
  const parts: PodFsPart[] = ['root', 'logs'];
  const ranking = rankForEviction(pods, statsByUID(summaryOf({}, stats)), { resource, parts });
  return ranking.map(({ name }) => name);
}

const withMemory = (name: string, requestMi: number, priority: number) =>
  requestingPod(name, { requests: { memory: `${requestMi}Mi` }, priority });

describe('memory', () => {
  test('usage over the request comes before priority, and priority before the amount over the request', () => {
    const pods = [
      withMemory('within', 500, -10),
      withMemory('over-important', 100, 10),
      withMemory('over-far', 100, 0),
      withMemory('over-farther', 100, 0),
    ];
    const stats = [
      usingMemory('within', 500),
      usingMemory('over-important', 900),
      usingMemory('over-far', 101),
      usingMemory('over-farther', 102),
    ];
    expect(ranked('memory', pods, stats)).toEqual(['over-farther', 'over-far', 'over-important', 'within']);
  });

  test('a pod without stats comes first, whatever its priority', () => {
    const pods = [withMemory('known', 0, 0), withMemory('unknown', 100, 1000)];
    expect(ranked('memory', pods, [usingMemory('known', 500)])).toEqual(['unknown', 'known']);
  });

  test('pods without stats are ranked by priority only', () => {
    const pods = [withMemory('a', 1, 2), withMemory('b', 900, 1), withMemory('c', 1, 1)];
    expect(ranked('memory', pods, [])).toEqual(['b', 'c', 'a']);
  });

  test('equal pods keep their order, however many there are', () => {
    const pods = Array.from({ length: 40 }, (_, index) => withMemory(`p${index}`, 10, 0));
    const names = pods.map(({ metadata }) => metadata.name);
    expect(
      ranked(
        'memory',
        pods,
        names.map((name) => usingMemory(name, 20)),
      ),
    ).toEqual(names);
  });

  test('a critical pod is ranked too, and is marked', () => {
    const pods = [requestingPod('critical', { critical: true }), withMemory('b', 0, 0)];
    const ranking = rankForEviction(pods, new Map(), { resource: 'memory', parts: [] });
    expect(ranking).toEqual([
      expect.objectContaining({ name: 'b', usage: undefined, overRequest: 0, isCritical: false }),
      expect.objectContaining({ name: 'critical', priority: 2_000_000_000, isCritical: true }),
    ]);
  });

  test('the figures are kept', () => {
    const stats = statsByUID(summaryOf({}, [usingMemory('a', 30)]));
    const [candidate] = rankForEviction([withMemory('a', 10, 7)], stats, { resource: 'memory', parts: [] });
    expect(candidate).toEqual({
      name: 'a',
      namespace: 'default',
      uid: 'a',
      priority: 7,
      isCritical: false,
      usage: 30 * MI,
      request: 10 * MI,
      exceedsRequest: true,
      overRequest: 20 * MI,
    });
  });
});

describe('process IDs', () => {
  const running = (name: string, count: number) => statsOf(name, { process_stats: { process_count: count } });

  test('priority comes before the number of processes; a pod without stats comes first among pods of its priority', () => {
    const pods = [
      requestingPod('many', { priority: 1 }),
      requestingPod('few', { priority: 0 }),
      requestingPod('more', { priority: 0 }),
      requestingPod('unknown', { priority: 0 }),
    ];
    const stats = [running('many', 500), running('few', 2), running('more', 3)];
    expect(ranked('pids', pods, stats)).toEqual(['unknown', 'more', 'few', 'many']);
  });
});

describe('disk', () => {
  const used = { usedBytes: 100, inodesUsed: 7 };
  const pod = requestingPod('a', {
    volumes: [
      { name: 'scratch', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory' } },
      { name: 'host', hostPath: { path: '/x' } },
      { name: 'claim', persistentVolumeClaim: { claimName: 'c' } },
      { name: 'unmeasured', secret: { secretName: 's' } },
    ],
  });
  const stats = statsOf('a', {
    containers: [{ name: 'main', rootfs: used, logs: used }, { name: 'other' }],
    volume: ['scratch', 'memory', 'host', 'claim'].map((name) => ({ name, ...used })),
  });

  test.each([
    [['root'], 100, 7],
    [['root', 'logs'], 200, 14],
    [['localVolumeSource'], 200, 14],
    [['images'], 0, 0],
  ] as [PodFsPart[], number, number][])(
    'usage of %s includes only parts on a disk of the node',
    (parts, bytes, inodes) => {
      expect(podUsage(pod, stats, 'ephemeral-storage', parts)).toBe(bytes);
      expect(podUsage(pod, stats, 'inodes', parts)).toBe(inodes);
    },
  );

  test('inodes cannot be requested: a pod with any inodes exceeds, and the request in bytes is subtracted', () => {
    const asking = requestingPod('asking', { requests: { 'ephemeral-storage': '1k' } });
    const plain = requestingPod('plain');
    const inodes = (name: string, inodesUsed: number) =>
      statsOf(name, { containers: [{ name: 'main', rootfs: { inodesUsed } }] });
    const measured = [inodes('asking', 50), inodes('plain', 20)];
    const ranking = rankForEviction([asking, plain], statsByUID(summaryOf({}, measured)), {
      resource: 'inodes',
      parts: ['root'],
    });
    expect(
      ranking.map(({ name, exceedsRequest, overRequest }) => [name, exceedsRequest, overRequest]),
    ).toEqual([
      ['plain', true, 20],
      ['asking', true, -950],
    ]);
  });
});
