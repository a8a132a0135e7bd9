import { describe, expect, test } from '@jest/globals';
import { observe } from '../../../src/policies/eviction/observations.ts';
import { statsByUID } from '../../../src/policies/eviction/pod-usage.ts';
import {
  canBeRequested,
  describeRanking,
  describeShortage,
  usageText,
} from '../../../src/policies/eviction/ranking-text.ts';
import { rankForEviction } from '../../../src/policies/eviction/ranking.ts';
import { mostUrgentShortage } from '../../../src/policies/eviction/shortage.ts';
import { requestingPod } from '../../support/admission.ts';
import {
  MI,
  ONE_FILE_SYSTEM,
  shortageOf,
  statsOf,
  summaryOf,
  thresholds,
  usingMemory,
} from '../../support/eviction.ts';

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
