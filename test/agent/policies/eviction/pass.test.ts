import { describe, expect, test } from '@jest/globals';
import {
  chooseVictim,
  evaluateEviction,
  type EvictionFacts,
  type EvictionSettings,
  INITIAL_EVICTION_STATE,
} from '../../../../src/agent/policies/eviction/pass.ts';
import { requestingPod } from '../../../support/admission.ts';
import {
  factsWith,
  type Left,
  settingsWith,
  shortageOf,
  statsOf,
  summaryOf,
  thresholds,
  usingMemory,
} from '../../../support/eviction.ts';

/** Passes over one node. Each pass gets the state that the last one returned. */
class Node {
  readonly #settings: EvictionSettings;
  #state = INITIAL_EVICTION_STATE;

  constructor(settings: Partial<EvictionSettings>) {
    this.#settings = settingsWith(settings);
  }

  pass(nowMs: number, left: Left) {
    const summary = summaryOf({ nowMs, ...left });
    const evaluation = evaluateEviction(
      factsWith({ settings: this.#settings, state: this.#state, nowMs, summary }),
    );
    this.#state = evaluation.state;
    return evaluation;
  }

  isShort(nowMs: number, left: Left): boolean {
    return this.pass(nowMs, left).shortage !== undefined;
  }
}

const HARD = thresholds({
  evictionHard: { 'memory.available': '100Mi' },
  evictionMinimumReclaim: { 'memory.available': '50Mi' },
});
const SOFT = thresholds({
  evictionSoft: { 'memory.available': '100Mi' },
  evictionSoftGracePeriod: { 'memory.available': '30s' },
});

describe('the state between passes', () => {
  test('lets a soft threshold lead to eviction after it was met for its whole grace period', () => {
    const node = new Node({ thresholds: SOFT });
    const low = { memory: 50 };
    expect([node.isShort(0, low), node.isShort(29_000, low)]).toEqual([false, false]);
    expect([node.isShort(30_000, { memory: 100 }), node.isShort(31_000, low)]).toEqual([false, false]);
    expect([node.isShort(60_000, low), node.isShort(61_000, low)]).toEqual([false, true]);
  });

  test('lets a threshold lead to eviction until the minimum reclaim is available', () => {
    const node = new Node({ thresholds: HARD });
    expect(node.isShort(0, { memory: 120 })).toBe(false);
    expect(node.isShort(1000, { memory: 99 })).toBe(true);
    expect(node.isShort(2000, { memory: 120 })).toBe(true);
    expect(node.isShort(3000, { memory: 150 })).toBe(false);
    expect(node.isShort(4000, { memory: 120 })).toBe(false);
  });

  test('prevents that the same figures lead to eviction twice', () => {
    const node = new Node({ thresholds: HARD });
    expect(node.isShort(0, { memory: 50 })).toBe(true);
    expect(node.isShort(10_000, { memory: 50, nowMs: 0 })).toBe(false);
    expect(node.isShort(20_000, { memory: 50, nowMs: 1000 })).toBe(true);
  });

  test('keeps a condition for the transition period after its pressure; observed conditions are returned separately', () => {
    const node = new Node({ thresholds: SOFT, pressureTransitionPeriodMs: 60_000 });
    expect(node.pass(0, { memory: 50 })).toMatchObject({
      conditions: ['MemoryPressure'],
      observedConditions: ['MemoryPressure'],
    });
    expect(node.pass(59_000, { memory: 500 })).toMatchObject({
      conditions: ['MemoryPressure'],
      observedConditions: [],
    });
    expect(node.pass(60_000, { memory: 500 }).conditions).toEqual([]);
  });

  test('has no shortage without thresholds', () => {
    expect(new Node({}).pass(0, { memory: 0, disk: 0, pids: 0 })).toMatchObject({
      conditions: [],
      overLimit: [],
      shortage: undefined,
    });
  });
});

describe('pods over limits of their own', () => {
  const scratch = { volumes: [{ name: 'scratch', emptyDir: { sizeLimit: '1Ki' } }] };
  const over = (name: string) => statsOf(name, { volume: [{ name: 'scratch', usedBytes: 2048 }] });
  const facts = (fields: Partial<EvictionFacts> = {}) =>
    factsWith({
      settings: settingsWith({ thresholds: HARD }),
      summary: summaryOf({ memory: 1 }, ['a', 'b', 'critical'].map(over)),
      pods: [
        requestingPod('a', scratch),
        requestingPod('unmeasured', scratch),
        requestingPod('b', scratch),
        requestingPod('critical', { ...scratch, critical: true }),
      ],
      ...fields,
    });
  const names = (fields: Partial<EvictionFacts>) =>
    evaluateEviction(facts(fields)).overLimit.map(({ pod }) => pod.name);

  test('are all evicted at once, and no other pod is in this pass', () => {
    const { overLimit, shortage } = evaluateEviction(facts());
    expect(overLimit.map(({ pod }) => pod.name)).toEqual(['a', 'b']);
    expect(shortage).toBeUndefined();
    expect(overLimit[0]).toMatchObject({
      signal: 'emptydirfs.limit',
      annotations: {},
      gracePeriodSeconds: 1,
      message: 'Usage of EmptyDir volume "scratch" exceeds the limit "1Ki". ',
      kill: { evict: true, podTerminationGracePeriodSecondsOverride: 1 },
      why: 'emptydirfs.limit: 2Ki > 1Ki. Usage of EmptyDir volume "scratch" exceeds the limit "1Ki".',
    });
  });

  test('are skipped if they are ending already', () => {
    expect(names({ ending: new Set(['a']) })).toEqual(['b']);
    expect(names({ unendable: new Set(['b']) })).toEqual(['a']);
    const both = evaluateEviction(facts({ ending: new Set(['a']), unendable: new Set(['b']) }));
    expect(both.shortage).toBeDefined();
  });

  test('stay if limits are not enforced', () => {
    const settings = settingsWith({ thresholds: HARD, localStorageCapacityIsolation: false });
    expect(names({ settings })).toEqual([]);
  });
});

describe('the victim', () => {
  const pods = [
    requestingPod('critical', { critical: true }),
    requestingPod('static', { annotations: { 'kubernetes.io/config.source': 'file' } }),
    requestingPod('big', { priority: 5, terminationGracePeriodSeconds: 5 }),
    requestingPod('small', { priority: 5 }),
  ];
  const stats = [
    usingMemory('critical', 900),
    usingMemory('static', 800),
    usingMemory('big', 300),
    usingMemory('small', 200),
  ];
  const choose = (fields: Partial<Parameters<typeof chooseVictim>[0]> = {}) =>
    chooseVictim({
      settings: settingsWith({}),
      shortage: shortageOf('memory.available', '100Mi', { memory: 50 }),
      summary: summaryOf({ memory: 50 }, stats),
      pods,
      ending: new Set<string>(),
      unendable: new Set<string>(),
      ...fields,
    });

  test('is the first pod of the ranking that is not critical', () => {
    const { eviction, ranking, why } = choose();
    expect(ranking.candidates.map(({ name }) => name)).toEqual(['static', 'big', 'small', 'critical']);
    expect(eviction).toMatchObject({
      pod: { name: 'big', namespace: 'default', uid: 'big' },
      signal: 'memory.available',
      gracePeriodSeconds: 1,
      why,
      annotations: { offending_containers: 'main' },
      kill: { podStatus: { reason: 'Evicted', conditions: [{ type: 'DisruptionTarget' }] } },
    });
    expect(why).toContain(
      'default/big (uses 300Mi, requests 0, priority 5) goes; passed over: default/static',
    );
  });

  test.each([
    ['its own grace period', 'big', 20, 5],
    ['the longest that is allowed', 'big', 3, 3],
    ['the longest that is allowed, if the pod has none', 'small', 20, 20],
  ])('of a soft threshold has %s', (_, name, maxPodGracePeriodSeconds, seconds) => {
    const shortage = { ...shortageOf('memory.available', '100Mi', { memory: 50 }), isHard: false };
    const { eviction } = choose({
      settings: settingsWith({ maxPodGracePeriodSeconds }),
      shortage,
      pods: pods.filter(({ metadata }) => metadata.name === name),
    });
    expect(eviction?.gracePeriodSeconds).toBe(seconds);
    expect(eviction?.kill.podTerminationGracePeriodSecondsOverride).toBe(seconds);
  });

  test('is not chosen while a pod of the ranking is ending', () => {
    const { eviction, ranking, why } = choose({ ending: new Set(['small', 'elsewhere']) });
    expect([eviction, ranking.victim]).toEqual([undefined, undefined]);
    expect(ranking.awaited.map(({ name }) => name)).toEqual(['small']);
    expect(why).toContain('waiting for the end of default/small');
  });

  test('is the second pod of the ranking if the first has not ended in time', () => {
    expect(choose({ unendable: new Set(['big']) }).eviction?.pod.name).toBe('small');
  });

  test('is chosen without waiting for a pod that has not ended in time', () => {
    const big = new Set(['big']);
    const { eviction, ranking } = choose({ ending: big, unendable: big });
    expect([eviction?.pod.name, ranking.awaited]).toEqual(['small', []]);
  });

  test('does not exist if all pods are critical, or there are none', () => {
    const { eviction, why } = choose({ pods: pods.slice(0, 2) });
    expect(eviction).toBeUndefined();
    expect(why).toContain('none can be evicted');
    expect(choose({ pods: [] }).eviction).toBeUndefined();
  });
});
