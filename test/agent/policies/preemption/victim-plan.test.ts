import { describe, expect, test } from '@jest/globals';
import { admitPod } from '../../../../src/agent/policies/admission/admit-pod.ts';
import { usedBy } from '../../../../src/agent/policies/admission/used-resources.ts';
import {
  admitPodBeside,
  type FreedRoom,
  holdersOnceFreed,
  withoutPreemptable,
  planPreemption,
  type PreemptionPlanFacts,
} from '../../../../src/agent/policies/preemption/victim-plan.ts';
import { seededRandom } from '../../../../src/simulation/plan/seeded-random.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { requestingPod, testNode } from '../../../support/admission.ts';

const NODE = testNode();
const QUIET: FreedRoom = { ending: new Set(), promisedTo: [] };

const pod = (name: string, cpu: string, critical = false) =>
  requestingPod(name, { critical, requests: { cpu } });
const room = (ending: readonly string[], ...promisedTo: Pod[]): FreedRoom => ({
  ending: new Set(ending),
  promisedTo,
});

function plan(preemptor: Pod, holders: readonly Pod[], facts: Partial<PreemptionPlanFacts> = {}) {
  const given = { node: NODE, preemptor, holders, room: QUIET, unendable: new Set<string>() };
  const made = planPreemption({ ...given, lowerPriorityFirst: true, ...facts });
  const victims = made.decision?.victims.map(({ candidate }) => candidate.uid) ?? [];
  return made.kind === 'evict' ? { victims, awaited: made.awaited } : { victims, ...made.rejection };
}

describe('a plan while no resources are promised', () => {
  test('waits for its victims', () => {
    expect(plan(pod('new', '1', true), [pod('a', '1'), pod('b', '3')])).toEqual({
      victims: ['a'],
      awaited: ['a'],
    });
  });

  test('has no victims if the pod fits meanwhile', () => {
    expect(plan(pod('new', '1', true), [pod('b', '3')])).toEqual({ victims: [], awaited: [] });
  });

  test('rejects a pod for which no victims are found, with the decision', () => {
    const made = plan(pod('new', '2', true), [pod('a', '1'), pod('b', '3', true)]);
    expect(made).toMatchObject({ reason: 'UnexpectedAdmissionError', victims: [] });
  });

  test('rejects a pod that fails another check meanwhile', () => {
    const node = testNode({ taints: [{ key: 'maint', effect: 'NoExecute' }] });
    expect(plan(pod('new', '2', true), [pod('a', '4')], { node })).toMatchObject({
      reason: 'TaintToleration',
      victims: [],
    });
  });

  test('does not choose a pod again that could not be ended; it keeps its resources', () => {
    const holders = [pod('a', '1'), pod('b', '3')];
    expect(plan(pod('new', '1', true), holders, { unendable: new Set(['a']) })).toEqual({
      victims: ['b'],
      awaited: ['b'],
    });
  });
});

describe('a plan while resources are promised to another pod', () => {
  const first = pod('first', '1', true);
  const second = pod('second', '1', true);
  const holders = [pod('a', '1'), pod('b', '1'), pod('c', '2')];

  test('does not choose the same victims', () => {
    expect(plan(first, holders)).toEqual({ victims: ['b'], awaited: ['b'] });
    expect(plan(second, holders, { room: room(['b'], first) })).toEqual({ victims: ['a'], awaited: ['a'] });
  });

  test('does not use free resources that the other pod needs', () => {
    const large = pod('large', '2', true);
    const free = [pod('a', '1'), pod('c', '2')];
    expect(plan(large, free)).toEqual({ victims: ['a'], awaited: ['a'] });
    expect(plan(second, free, { room: room(['a'], large) })).toMatchObject({ victims: ['c'] });
  });

  test('uses what the other pod leaves over: without victims, but it waits for the same end', () => {
    const roomy = [pod('b', '2'), pod('c', '2')];
    expect(plan(first, roomy)).toEqual({ victims: ['c'], awaited: ['c'] });
    expect(plan(second, roomy, { room: room(['c'], first) })).toEqual({ victims: [], awaited: ['c'] });
  });

  test('does not wait for a victim of the other pod that it does not need', () => {
    const half = [pod('a', '1'), pod('c', '2', true)];
    expect(plan(second, half, { room: room(['a']) })).toEqual({ victims: [], awaited: [] });
  });

  test('does not count a victim that could not be ended', () => {
    const roomy = [pod('b', '2'), pod('c', '2')];
    const facts = { room: room(['c'], first), unendable: new Set(['c']) };
    expect(plan(second, roomy, facts)).toEqual({ victims: ['b'], awaited: ['b'] });
  });

  test('does not count a promise to the pod itself against it', () => {
    expect(plan(first, [pod('a', '3')], { room: room([], first) })).toEqual({ victims: [], awaited: [] });
  });

  describe('for a pod of higher priority', () => {
    const higher = (cpu: string) => requestingPod('higher', { priority: 2_000_000_001, requests: { cpu } });
    const waiting = room(['a'], first);

    test('leaves it to the other pod if there are other victims', () => {
      const full = [pod('a', '1'), pod('b', '3')];
      expect(plan(higher('1'), full, { room: waiting })).toEqual({ victims: ['b'], awaited: ['b'] });
    });

    test('takes it if there are no other victims', () => {
      expect(plan(higher('4'), [pod('a', '4')], { room: waiting })).toEqual({ victims: [], awaited: ['a'] });
      expect(admitPodBeside(NODE, higher('4'), [], waiting).kind).toBe('admitted');
    });

    test('does not take it from a pod of the same priority', () => {
      const equal = room(['a'], requestingPod('equal', { priority: 2_000_000_001, requests: { cpu: '1' } }));
      expect(plan(higher('4'), [pod('a', '4')], { room: equal })).toMatchObject({
        reason: 'UnexpectedAdmissionError',
      });
    });
  });
});

/** A node on which critical pods arrive while victims of others are ending. The order of events is random. */
class Story {
  readonly #random;
  #holders: readonly Pod[] = [];
  readonly #ending = new Set<string>();
  /** The waiting pods, and the UIDs whose end they wait for. */
  readonly #waiting = new Map<Pod, readonly string[]>();
  rejected = 0;
  victims = 0;

  constructor(seed: number) {
    this.#random = seededRandom(seed);
    for (let index = 0; index < 9; index += 1) {
      const pod = this.#draw(`pod-${index}`, false);
      if (admitPod(NODE, pod, usedBy(this.#holders)).kind === 'admitted')
        this.#holders = [...this.#holders, pod];
    }
  }

  /** Runs until no pod waits any more. */
  run(): this {
    for (let index = 0; index < 12; index += 1) {
      const newcomer = this.#draw(`critical-${index}`, true);
      if (!this.#admits(newcomer)) this.#plan(newcomer);
      if (this.#waiting.size > 0 && this.#random.next() < 0.5) this.#proceed();
    }
    for (let step = 0; this.#waiting.size > 0; step += 1) {
      if (step > 50) throw new Error('a pod waits for ever');
      this.#proceed();
    }
    return this;
  }

  #draw(name: string, critical: boolean): Pod {
    const amount = () => 50 * this.#random.integer(1, 12);
    return requestingPod(name, { critical, requests: { cpu: `${amount()}m`, memory: `${amount()}Mi` } });
  }

  #coming(): FreedRoom {
    return room([...this.#ending], ...this.#waiting.keys());
  }

  #admits(pod: Pod): boolean {
    if (admitPodBeside(NODE, pod, this.#holders, this.#coming()).kind !== 'admitted') return false;
    this.#waiting.delete(pod);
    this.#holders = [...this.#holders, pod];
    return true;
  }

  #plan(preemptor: Pod): void {
    const made = plan(preemptor, this.#holders, { room: this.#coming() });
    if ('reason' in made) {
      expect(this.#waiting.has(preemptor)).toBe(false);
      this.rejected += 1;
      return;
    }
    expect(made.victims.filter((uid) => this.#ending.has(uid))).toEqual([]);
    for (const uid of made.victims) this.#ending.add(uid);
    this.victims += made.victims.length;
    this.#waiting.set(preemptor, made.awaited);
  }

  /** The pods that one waiting pod waits for have ended. It may have to wait for others that are still ending. */
  #proceed(): void {
    const preemptor = this.#random.pick([...this.#waiting.keys()]);
    const awaited = this.#waiting.get(preemptor) ?? [];
    for (const uid of awaited) this.#ending.delete(uid);
    this.#holders = this.#holders.filter(({ metadata }) => !awaited.includes(metadata.uid));
    if (this.#admits(preemptor)) return;
    const before = this.victims;
    this.#plan(preemptor);
    expect(this.victims).toBe(before);
    expect(this.#waiting.get(preemptor)).not.toEqual([]);
  }
}

test('every pod gets what it was promised, in every order of events, and no victim is chosen twice', () => {
  const stories = Array.from({ length: 200 }, (_, index) => new Story(index + 1).run());
  expect(stories.filter(({ victims }) => victims > 2).length).toBeGreaterThan(100);
  expect(stories.filter(({ rejected }) => rejected > 0).length).toBeGreaterThan(10);
});

const namesOf = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);

test('ending pods will hold nothing, and waiting pods what they wait for, but not the pod itself', () => {
  const [first, second] = [pod('first', '1', true), pod('second', '1', true)];
  const holders = [pod('a', '1'), pod('b', '1')];
  expect(namesOf(holdersOnceFreed(second, holders, room(['a'], first, second)))).toEqual(['b', 'first']);
});

test('promises to pods that the pod could preempt do not count for it', () => {
  const higher = requestingPod('higher', { priority: 2_000_000_001 });
  const equal = requestingPod('equal', { priority: 2_000_000_001 });
  const coming = withoutPreemptable(higher, room(['a'], pod('first', '1', true), equal));
  expect([namesOf(coming.promisedTo), [...coming.ending]]).toEqual([['equal'], ['a']]);
});

describe('a pod that comes while resources are promised to another', () => {
  const critical = pod('critical', '2', true);
  const holders = [pod('a', '2'), pod('b', '1')];
  const waiting = room(['a'], critical);
  const admit = (newcomer: Pod, others = holders, coming = waiting) =>
    admitPodBeside(NODE, newcomer, others, coming);

  test('is admitted if it fits beside what is promised', () => {
    expect(admit(pod('new', '1')).kind).toBe('admitted');
  });

  test('gets nothing that is promised, even if it is free now', () => {
    const free = [pod('b', '1')];
    expect(admit(pod('new', '2'), free).kind).toBe('rejected');
    expect(admit(pod('new', '2', true), free).kind).toBe('short');
    expect(admit(pod('new', '2'), free, QUIET).kind).toBe('admitted');
  });

  test('gets nothing that is not free yet', () => {
    expect(admit(pod('new', '2'), holders, room(['a'])).kind).toBe('rejected');
  });

  test('the pod to which it is promised gets it once it is free', () => {
    expect(admit(critical, [pod('b', '1')]).kind).toBe('admitted');
    expect(admit(critical).kind).toBe('short');
  });
});

test('a pod of higher priority gets what is promised to another if it does not fit otherwise', () => {
  const higher = (cpu: string) => requestingPod('higher', { priority: 2_000_000_001, requests: { cpu } });
  expect(admitPodBeside(NODE, higher('4'), [], room([], pod('first', '1', true))).kind).toBe('admitted');
});
