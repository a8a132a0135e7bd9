import { describe, expect, test } from '@jest/globals';
import type { PodFsPart } from '../../../../src/agent/policies/eviction/file-system-parts.ts';
import { observe } from '../../../../src/agent/policies/eviction/observations.ts';
import { podUsage, statsByUID } from '../../../../src/agent/policies/eviction/pod-usage.ts';
import {
  canBeRequested,
  describeRanking,
  describeShortage,
  rankForEviction,
  usageText,
} from '../../../../src/agent/policies/eviction/ranking.ts';
import { mostUrgentShortage } from '../../../../src/agent/policies/eviction/shortage.ts';
import type { StarvedResource } from '../../../../src/agent/policies/eviction/signals.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { PodStats } from '../../../../src/types/stats.ts';
import { requestingPod } from '../../../support/admission.ts';
import {
  MI,
  ONE_FILE_SYSTEM,
  shortageOf,
  statsOf,
  summaryOf,
  thresholds,
  usingMemory,
} from '../../../support/eviction.ts';

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

  test('usage of space over the request comes before priority, and priority before the amount over the request', () => {
    const withSpace = (name: string, requestKi: number, priority: number) =>
      requestingPod(name, { requests: { 'ephemeral-storage': `${requestKi}Ki` }, priority });
    const usingSpace = (name: string, usedKi: number) =>
      statsOf(name, { containers: [{ name: 'main', rootfs: { usedBytes: usedKi * 1024 } }] });
    const pods = [
      withSpace('within', 500, -10),
      withSpace('over-important', 100, 10),
      withSpace('over-far', 800, 0),
      withSpace('over-farther', 100, 0),
    ];
    const measured = [
      usingSpace('within', 500),
      usingSpace('over-important', 900),
      usingSpace('over-far', 801),
      usingSpace('over-farther', 102),
    ];
    expect(ranked('ephemeral-storage', pods, measured)).toEqual([
      'over-farther',
      'over-far',
      'over-important',
      'within',
    ]);
  });

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

const MEMORY = shortageOf('memory.available', '100Mi', { memory: 50 });

describe('why this pod is evicted, in one line', () => {
  const pods = [
    requestingPod('critical', { critical: true }),
    ...['a', 'b', 'c', 'd', 'e'].map((name, index) =>
      requestingPod(name, { requests: { memory: '300Mi' }, priority: index }),
    ),
  ];
  const stats = statsByUID(
    summaryOf({}, [
      usingMemory('critical', 900),
      ...['b', 'c', 'd', 'e'].map((name) => usingMemory(name, 200)),
    ]),
  );
  const candidates = rankForEviction(pods, stats, { resource: 'memory', parts: [] });
  const named = (name: string) => candidates.find((candidate) => candidate.name === name);
  const ranking = { shortage: MEMORY, candidates, awaited: [], victim: undefined };

  test('names the victim with its figures, the pods that were passed over, and those that would be next', () => {
    expect(describeRanking({ ...ranking, victim: named('b') })).toBe(
      'memory.available 50Mi < 100Mi (hard); 6 pods ranked: default/b (uses 200Mi, requests 300Mi, priority 1) goes; ' +
        'passed over: default/a (did not end), default/critical (critical); ' +
        'next: default/c (uses 200Mi, requests 300Mi, priority 2), default/d (uses 200Mi, requests 300Mi, priority 3), ' +
        'default/e (uses 200Mi, requests 300Mi, priority 4)',
    );
  });

  test('names three pods behind the victim, and counts the others', () => {
    const line = describeRanking({ ...ranking, victim: named('a') });
    expect(line).toContain(
      'default/a (usage unknown, requests 300Mi, priority 0) goes; next: default/critical',
    );
    expect(line).toMatch(/; and 2 more$/u);
  });

  test('names the pod whose end is awaited', () => {
    expect(describeRanking({ ...ranking, awaited: [named('d')!] })).toBe(
      'memory.available 50Mi < 100Mi (hard); 6 pods ranked: waiting for the end of default/d',
    );
  });

  test('says that no pod can be evicted', () => {
    expect(describeRanking({ ...ranking, candidates: [named('critical')!] })).toBe(
      'memory.available 50Mi < 100Mi (hard); 1 pod ranked: none can be evicted',
    );
  });

  test('shows numbers without requests for resources that cannot be requested', () => {
    const shortage = shortageOf('pid.available', '100', { pids: 50 });
    const running = statsOf('a', { process_stats: { process_count: 12 } });
    const [only] = rankForEviction([pods[1]!], statsByUID(summaryOf({}, [running])), {
      resource: 'pids',
      parts: [],
    });
    expect(describeRanking({ shortage, candidates: [only!], awaited: [], victim: only })).toBe(
      'pid.available 50 < 100 (hard); 1 pod ranked: default/a (uses 12, priority 0) goes',
    );
  });

  test('names the minimum reclaim if only that is not reached', () => {
    const soft = thresholds({
      evictionSoft: { 'memory.available': '100Mi' },
      evictionSoftGracePeriod: { 'memory.available': '1m' },
      evictionMinimumReclaim: { 'memory.available': '50Mi' },
    });
    const at = (memory: number) =>
      describeShortage(mostUrgentShortage(soft, observe(summaryOf({ memory })), ONE_FILE_SYSTEM)!);
    expect(at(120)).toBe('memory.available 120Mi < 100Mi + 50Mi (soft)');
    expect(at(90)).toBe('memory.available 90Mi < 100Mi (soft)');
  });
});

test('usages have the unit of their resource', () => {
  expect(usageText(300 * MI, 'memory')).toBe('300Mi');
  expect(usageText(17, 'pids')).toBe('17');
  expect(usageText(17, 'inodes')).toBe('17');
  expect(usageText(2 * MI, 'io')).toBe('2Mi/s');
});

test('only memory and local storage can be requested', () => {
  const resources = ['memory', 'ephemeral-storage', 'inodes', 'pids', 'io'] as const;
  expect(resources.filter(canBeRequested)).toEqual(['memory', 'ephemeral-storage']);
});
