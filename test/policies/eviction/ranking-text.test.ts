import { describe, expect, test } from '@jest/globals';
import type { EvictionCandidate } from '../../../src/policies/eviction/ranking.ts';
import {
  canBeRequested,
  describeRanking,
  describeShortage,
  usageText,
} from '../../../src/policies/eviction/ranking-text.ts';
import { MI, shortageOf } from '../../support/eviction.ts';

const MEMORY = shortageOf('memory.available', '100Mi', { memory: 90 });

function candidate(name: string, more: Partial<EvictionCandidate> = {}): EvictionCandidate {
  return {
    namespace: 'default',
    name,
    uid: name,
    priority: 0,
    usage: 300 * MI,
    request: 50 * MI,
    exceedsRequest: true,
    overRequest: 250 * MI,
    isCritical: false,
    ...more,
  };
}

const described = (candidates: readonly EvictionCandidate[], victim = candidates[0]) =>
  describeRanking({ shortage: MEMORY, candidates, awaited: [], victim });

test('a shortage names the signal, what is left, what should be, and how hard the threshold is', () => {
  expect(describeShortage(MEMORY)).toBe('memory.available 90Mi < 100Mi (hard)');
  const quantity = (mi: number) => ({ ...MEMORY.available, nanos: BigInt(mi * MI) * 10n ** 9n });
  const reclaiming = { ...MEMORY, isHard: false, available: quantity(110), minReclaim: quantity(50) };
  expect(describeShortage(reclaiming)).toBe('memory.available 110Mi < 100Mi + 50Mi (soft)');
});

describe('a ranking', () => {
  test('names the victim with its figures', () => {
    expect(described([candidate('greedy')])).toBe(
      'memory.available 90Mi < 100Mi (hard); 1 pod ranked: default/greedy (uses 300Mi, requests 50Mi, priority 0) goes',
    );
  });

  test('names the pods that were passed over, and why', () => {
    const [dns, hung, greedy] = [
      candidate('dns', { isCritical: true }),
      candidate('hung'),
      candidate('greedy'),
    ];
    expect(described([dns, hung, greedy], greedy)).toContain(
      'passed over: default/dns (critical), default/hung (did not end)',
    );
  });

  test('names three pods behind the victim, and counts the others', () => {
    const text = described(['a', 'b', 'c', 'd', 'e', 'f'].map((name) => candidate(name)));
    expect(text).toMatch(/next: default\/b .*, default\/c .*, default\/d .*; and 2 more$/u);
  });

  test('says that a pod is ending, or that none can be evicted', () => {
    const facts = { shortage: MEMORY, candidates: [candidate('a')], victim: undefined };
    expect(describeRanking({ ...facts, awaited: [candidate('a')] })).toContain(
      'waiting for the end of default/a',
    );
    expect(describeRanking({ ...facts, awaited: [] })).toContain('none can be evicted');
  });

  test('says where the usage of a pod is not known', () => {
    expect(described([candidate('new', { usage: undefined })])).toContain('default/new (usage unknown');
  });
});

test('usages are written as their resources are counted', () => {
  expect(usageText(300 * MI, 'memory')).toBe('300Mi');
  expect(usageText(17, 'pids')).toBe('17');
  expect(usageText(17, 'inodes')).toBe('17');
  expect(usageText(2 * MI, 'io')).toBe('2Mi/s');
});

test('only memory and local storage can be requested', () => {
  const resources = ['memory', 'ephemeral-storage', 'inodes', 'pids', 'io'] as const;
  expect(resources.filter(canBeRequested)).toEqual(['memory', 'ephemeral-storage']);
});
