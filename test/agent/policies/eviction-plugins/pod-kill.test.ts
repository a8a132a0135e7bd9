import { describe, expect, test } from '@jest/globals';
import {
  conditionNews,
  killerOf,
  killGraceSeconds,
  killMessage,
  killRemedy,
  killRetryMs,
  noticeMessage,
  refusalKind,
  thresholdText,
} from '../../../../src/agent/policies/eviction-plugins/pod-kill.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { requestingPod } from '../../../support/admission.ts';
import { condition, met } from '../../../support/eviction-plugins.ts';

const QOS = 'katalyst.kubewharf.io/qos_level';
const SOURCE = 'kubernetes.io/config.source';

function podWith(annotations: Readonly<Record<string, string>>, graceSeconds?: number): Pod {
  const grace = graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: graceSeconds };
  return requestingPod('web', { annotations, ...grace });
}

describe('the way to end a pod', () => {
  const killers = { reclaimed_cores: 'DeletionAPI', shared_cores: 'SyncPodKill' } as const;

  test('is the Eviction API by default', () => {
    expect(killerOf(podWith({}), {}, true)).toBe('EvictionAPI');
    expect(killerOf(podWith({ [SOURCE]: 'api' }), {}, true)).toBe('EvictionAPI');
  });

  test('follows from the QoS level; a pod that names none, or an unknown one, has shared cores', () => {
    expect(killerOf(podWith({ [QOS]: 'reclaimed_cores' }), killers, true)).toBe('DeletionAPI');
    expect(killerOf(podWith({}), killers, true)).toBe('SyncPodKill');
    expect(killerOf(podWith({ [QOS]: 'nonsense' }), killers, true)).toBe('SyncPodKill');
    expect(killerOf(podWith({ [QOS]: 'dedicated_cores' }), killers, true)).toBe('EvictionAPI');
  });

  test('is a kill by this node for a pod that the API server does not know, and without an API server', () => {
    const local = podWith({ [QOS]: 'reclaimed_cores', [SOURCE]: 'local' });
    expect(killerOf(local, killers, true)).toBe('SyncPodKill');
    expect(killerOf(podWith({ [QOS]: 'reclaimed_cores' }), killers, false)).toBe('SyncPodKill');
  });
});

test('the grace period is that of the plugin, else of the pod, and at least 1 s', () => {
  expect(killGraceSeconds(podWith({}, 20), undefined)).toBe(20);
  expect(killGraceSeconds(podWith({}, 20), 7)).toBe(7);
  expect(killGraceSeconds(podWith({}, 20), 50)).toBe(50);
  expect(killGraceSeconds(podWith({}, 20), 0)).toBe(1);
  expect(killGraceSeconds(podWith({}), undefined)).toBe(30);
});

test('the message names the plugin and the reason, of which a long one is cut', () => {
  expect(killMessage('rss', 'uses too much')).toBe('Eviction plugin rss chose this pod: uses too much');
  expect(killMessage('rss', 'x'.repeat(2_000))).toBe(
    `Eviction plugin rss chose this pod: ${'x'.repeat(800)}…`,
  );
});

describe('an answer that is no success', () => {
  test.each([
    [429, 'Postponed'],
    [undefined, 'Unanswered'],
    [401, 'Unanswered'],
    [409, 'Unanswered'],
    [500, 'Unanswered'],
    [503, 'Unanswered'],
    [400, 'Refused'],
    [403, 'Refused'],
    [422, 'Refused'],
  ])('%s is %s', (status, kind) => {
    expect(refusalKind(status)).toBe(kind);
  });

  const delays = (kind: 'Postponed' | 'Unanswered' | 'Refused', times: number) =>
    Array.from({ length: times }, (_, index) => killRetryMs({ kind, problem: '' }, index + 1, 0) / 1000);

  test('without a delay of the server, waits grow up to a limit, slowly where it was refused', () => {
    expect(delays('Postponed', 6)).toEqual([5, 10, 20, 40, 60, 60]);
    expect(delays('Unanswered', 7)).toEqual([1, 2, 4, 8, 16, 30, 30]);
    expect(delays('Refused', 6)).toEqual([60, 120, 240, 480, 600, 600]);
  });

  test('the delay that the server names counts, however often it does', () => {
    expect(killRetryMs({ kind: 'Postponed', problem: '', askedMs: 10_000 }, 5, 0)).toBe(10_000);
    expect(killRetryMs({ kind: 'Postponed', problem: '', askedMs: 0 }, 1, 0)).toBe(5_000);
  });

  test('up to a tenth is added at random', () => {
    expect(killRetryMs({ kind: 'Postponed', problem: '', askedMs: 10_000 }, 1, 0.5)).toBe(10_500);
  });
});

test('the remedy names the right, the namespace and the setting', () => {
  expect(killRemedy(podWith({ [QOS]: 'reclaimed_cores' }), 'EvictionAPI')).toBe(
    'the credentials of the node must be allowed to create pods/eviction in namespace default, as those of system:nodes are; ' +
      'or set evictionPlugins.killers.reclaimed_cores to SyncPodKill, which asks no server',
  );
  expect(killRemedy(podWith({}), 'DeletionAPI')).toContain('allowed to delete pods in namespace default');
});

test('a notice says which plugin would have the pod evicted, and why; a very long reason is cut', () => {
  expect(noticeMessage({ plugin: 'p', reason: 'it is old' })).toBe(
    'Plugin p would have this pod evicted: it is old. It is told, as its annotation katalyst.kubewharf.io/pod_soft_evict_notify asks',
  );
  expect(noticeMessage({ plugin: 'p', reason: 'x'.repeat(10_000) }).length).toBeLessThan(1_024);
});

test('the message of a confirmed threshold has its values', () => {
  expect(thresholdText('p', met({ gracePeriodSeconds: 5, observedValue: 0.25 }))).toBe(
    'the threshold of p in scope memory has been met for its grace period of 5 s: target 10, observed 0.25',
  );
});

test('conditions are reported when they begin and when they end', () => {
  const [hot, warm] = [condition('Hot'), condition('Warm', { effects: [] })];
  expect(conditionNews([], [hot, warm])).toEqual([
    'condition Hot holds (NoSchedule)',
    'condition Warm holds (no effects)',
  ]);
  expect(conditionNews([hot, warm], [condition('Hot', { effects: ['NoExecute'] })])).toEqual([
    'condition Warm is over',
  ]);
});
