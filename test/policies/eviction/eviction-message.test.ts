import { describe, expect, test } from '@jest/globals';
import { describeRanking, describeShortage } from '../../../src/policies/eviction/ranking-text.ts';
import { rankForEviction } from '../../../src/policies/eviction/ranking.ts';
import {
  EVICTION_THRESHOLD_MET,
  evictionKill,
  evictionMessage,
  evictionThresholdMetMessage,
} from '../../../src/policies/eviction/eviction-message.ts';
import { statsByUID } from '../../../src/policies/eviction/pod-usage.ts';
import { observe } from '../../../src/policies/eviction/observations.ts';
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
const DISK = shortageOf('nodefs.available', '10Gi', { disk: 5 });

describe('what is said to the pod', () => {
  test('names resource, figures and the containers over their requests, sidecars too', () => {
    const pod = requestingPod('a', {
      requests: { memory: '10Mi' },
      initContainers: [{ name: 'sidecar', restartPolicy: 'Always' }],
    });
    const stats = statsOf('a', {
      containers: ['main', 'sidecar', 'stranger'].map((name) => ({
        name,
        memory: { workingSetBytes: 20 * MI },
      })),
    });
    expect(evictionMessage(MEMORY, pod, stats)).toEqual({
      message:
        'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ' +
        'Container main was using 20Mi, request is 10Mi, has larger consumption of memory. ' +
        'Container sidecar was using 20Mi, request is 0, has larger consumption of memory. ',
      annotations: {
        offending_containers: 'main,sidecar',
        offending_containers_usage: '20Mi,20Mi',
        starved_resource: 'memory',
      },
    });
  });

  test('layer and logs count together, where both are known', () => {
    const pod = requestingPod('a');
    const known = statsOf('a', {
      containers: [{ name: 'main', rootfs: { usedBytes: MI }, logs: { usedBytes: MI } }],
    });
    const unknown = statsOf('a', { containers: [{ name: 'main', rootfs: { usedBytes: MI } }] });
    expect(evictionMessage(DISK, pod, known).message).toContain('Container main was using 2Mi, request is 0');
    expect(evictionMessage(DISK, pod, unknown).message).not.toContain('Container');
  });

  test('a pod that requests memory as a whole is named before its containers, whatever it uses', () => {
    const pod = requestingPod('a', { resources: { requests: { memory: '1Gi' } } });
    const { message, annotations } = evictionMessage(MEMORY, pod, usingMemory('a', 20));
    expect(message).toContain(
      'Pod a was using 20Mi, request is 1Gi, has larger consumption of memory. Container main was using 20Mi',
    );
    expect(annotations).toMatchObject({ offending_pod: 'a', offending_pod_usage: '20Mi' });
    expect(evictionMessage(DISK, pod, usingMemory('a', 20)).message).not.toContain('Pod a');
    expect(evictionMessage(MEMORY, pod, statsOf('a', {})).annotations).not.toHaveProperty('offending_pod');
  });

  test('a pod of which nothing is known is told of the node alone, without annotations', () => {
    expect(evictionMessage(MEMORY, requestingPod('a'), undefined)).toEqual({
      message: 'The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ',
      annotations: {},
    });
  });
});

test('the event on the node names the resource', () => {
  expect([EVICTION_THRESHOLD_MET, evictionThresholdMetMessage(DISK)]).toEqual([
    'EvictionThresholdMet',
    'Attempting to reclaim ephemeral-storage',
  ]);
});

test('a pod that goes for the node is marked as disrupted; one that has exceeded its own limit is not', () => {
  expect(evictionKill('why', 1, { isDisrupted: true })).toEqual({
    evict: true,
    podTerminationGracePeriodSecondsOverride: 1,
    podStatus: {
      ...{ phase: 'Failed', reason: 'Evicted', message: 'why' },
      conditions: [
        { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message: 'why' },
      ],
    },
  });
  expect(evictionKill('why', 1, { isDisrupted: false }).podStatus).not.toHaveProperty('conditions');
});

describe('why this pod, in one line', () => {
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

  test('who goes, with the figures, who was passed over, and who would have been next', () => {
    expect(describeRanking({ ...ranking, victim: named('b') })).toBe(
      'memory.available 50Mi < 100Mi (hard); 6 pods ranked: default/b (uses 200Mi, requests 300Mi, priority 1) goes; ' +
        'passed over: default/a (did not end), default/critical (critical); ' +
        'next: default/c (uses 200Mi, requests 300Mi, priority 2), default/d (uses 200Mi, requests 300Mi, priority 3), ' +
        'default/e (uses 200Mi, requests 300Mi, priority 4)',
    );
  });

  test('so many are named, and of the others their number', () => {
    const line = describeRanking({ ...ranking, victim: named('a') });
    expect(line).toContain(
      'default/a (usage unknown, requests 300Mi, priority 0) goes; next: default/critical',
    );
    expect(line).toMatch(/; and 2 more$/u);
  });

  test('who is waited for', () => {
    expect(describeRanking({ ...ranking, awaited: [named('d')!] })).toBe(
      'memory.available 50Mi < 100Mi (hard); 6 pods ranked: waiting for the end of default/d',
    );
  });

  test('that nobody can go', () => {
    expect(describeRanking({ ...ranking, candidates: [named('critical')!] })).toBe(
      'memory.available 50Mi < 100Mi (hard); 1 pod ranked: none can be evicted',
    );
  });

  test('what is counted and not requested is told as numbers', () => {
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

  test('the minimum reclaim is told where that alone is missing', () => {
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
