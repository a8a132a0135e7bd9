/** The events that are possible in a preemption, from its victims, from the preemptor, and from the size of the node. */
import type { SnapshotFrom } from 'xstate';
import { type PreemptionEvent, preemptionMachine } from '../../../src/agent/machines/preemption-machine.ts';
import { type PreemptionDecision, selectVictims } from '../../../src/agent/policies/preemption/victims.ts';
import type { Pod, PodSpec } from '../../../src/types/kubernetes.ts';
import type { NodeFacts } from '../../../src/types/node-facts.ts';
import { nodeOf } from '../../support/admission.ts';
import { apiPod, staticPod } from '../../support/agent.ts';
import { LASTING_COMMAND } from '../path-node.ts';
import type { Environment } from '../paths.ts';

export type PreemptionState = SnapshotFrom<typeof preemptionMachine>;

/** The pods on the node, which differ between suites of paths. */
export interface Situation {
  /** A static pod that lacks room waits, and asks again. */
  readonly preemptor: 'api' | 'static';
  /** `ending`: the second pod has been deleted already, and hangs. Its end is awaited, and it is no victim. */
  readonly second: 'running' | 'ending';
}

/** The CPUs of the node, unless its size changes. */
export const NODE_CPUS = 4;
/** The CPU requests of the pods. */
export const CPUS = {
  first: 1,
  second: 1,
  third: 1,
  late: 1,
  preemptor: 3,
  intruder: 1,
  bystander: 0,
} as const;
type PodName = keyof typeof CPUS;

export const uidOf = (name: PodName) => `uid-of-${name}`;

/** How long a pod may take to end. */
export const GRACE_SECONDS = 5;

const spec = (name: PodName, more: Partial<PodSpec>): Partial<PodSpec> => {
  const resources = { requests: { cpu: String(CPUS[name]) } };
  const containers = [{ name: 'main', command: LASTING_COMMAND, resources }];
  return { containers, terminationGracePeriodSeconds: GRACE_SECONDS, ...more };
};
const ordinary = (name: PodName, more: Partial<PodSpec>): Pod => apiPod(name, uidOf(name), spec(name, more));

/** The pods that run when a path begins, and those that come later. A pod with a lower priority is preempted first. */
export const PODS = {
  first: ordinary('first', { priority: 1 }),
  second: ordinary('second', { priority: 2 }),
  third: ordinary('third', { priority: 3 }),
  /** Runs, because an earlier agent has started it. No source of this agent has added it yet. */
  late: ordinary('late', { priority: 4 }),
  /** Takes free room if there is some. */
  intruder: ordinary('intruder', { priority: 5 }),
  /** Its end makes the agent ask the pods that wait for room again. */
  bystander: ordinary('bystander', { priority: 5 }),
};
const { first, second, third } = PODS;

const CRITICAL = 2_000_000_000;

export function preemptorIn({ preemptor }: Pick<Situation, 'preemptor'>): Pod {
  const make = preemptor === 'api' ? apiPod : staticPod;
  const priority = { priority: CRITICAL, nodeSelector: { zone: 'a' } };
  return make('preemptor', uidOf('preemptor'), spec('preemptor', priority));
}

const decision = (pods: readonly Pod[], missingCpus: number): PreemptionDecision =>
  selectVictims({
    preemptor: preemptorIn({ preemptor: 'api' }),
    pods,
    lowerPriorityFirst: true,
    missing: missingCpus === 0 ? [] : [{ resource: 'cpu', amount: missingCpus * 1000 }],
  });
const rejection = (reason: string) => ({ reason, message: '' });
const selected = (victims: readonly Pod[], awaited = victims): PreemptionEvent => ({
  type: 'VICTIMS_SELECTED',
  decision: decision(victims, victims.length),
  awaited: awaited.map(({ metadata }) => metadata.uid),
});
const ended = (name: PodName): PreemptionEvent => ({ type: 'VICTIM_ENDED', uid: uidOf(name) });
const failed = (name: PodName): PreemptionEvent => ({ type: 'VICTIM_FAILED', uid: uidOf(name), problem: '' });

/** Events from other actors. */
const SENT = {
  preempt: { type: 'PREEMPT' },
  firstEnded: ended('first'),
  secondEnded: ended('second'),
  thirdEnded: ended('third'),
  firstFailed: failed('first'),
  secondFailed: failed('second'),
  thirdFailed: failed('third'),
  gone: { type: 'PREEMPTOR_GONE' },
} as const satisfies Record<string, PreemptionEvent>;

/** Results of the actor's own actions. They come at once, before any other event. */
const OUTCOMES = {
  twoAwaited: selected([first, second]),
  thirdAwaited: selected([third]),
  /** The node must have grown between two reads of its size. */
  nobodyAwaited: selected([]),
  noVictims: {
    type: 'NO_VICTIMS',
    decision: decision([first], 9),
    rejection: rejection('UnexpectedAdmissionError'),
  },
  admitted: { type: 'ADMITTED' },
  stillShort: { type: 'STILL_SHORT', rejection: rejection('OutOfcpu') },
  refused: { type: 'REFUSED', rejection: rejection('NodeAffinity') },
  rejected: { type: 'REJECTED' },
} as const satisfies Record<string, PreemptionEvent>;

const EVENTS = { ...SENT, ...OUTCOMES };
export type PreemptionEventName = keyof typeof EVENTS;
export type SentName = keyof typeof SENT;
export type Outcome = keyof typeof OUTCOMES;

export function isOutcome(name: string): name is Outcome {
  return name in OUTCOMES;
}

export function preemptionEnvironment(situation: Situation): Environment<typeof preemptionMachine> {
  const { uid, name, namespace } = preemptorIn(situation).metadata;
  const twoAwaited = situation.second === 'ending' ? selected([first], [first, second]) : OUTCOMES.twoAwaited;
  return {
    machine: preemptionMachine,
    input: { preemptor: { uid, name, namespace } },
    events: { ...EVENTS, twoAwaited },
    possible: (state) => possible(situation, state),
    label: preemptionLabel,
  };
}

/** The size of the node does not change between two reads, and states are equal even if different victims did not end. */
export function plainPreemptionEnvironment(situation: Situation): Environment<typeof preemptionMachine> {
  return {
    ...preemptionEnvironment(situation),
    possible: (state) => possible(situation, state).filter((name) => name !== 'nobodyAwaited'),
    label: ({ value, context }) =>
      [value, context.awaited.join(), context.rejection?.reason, context.decision && 'decided'].join(' '),
  };
}

function possible({ preemptor }: Situation, state: PreemptionState): readonly PreemptionEventName[] {
  const { awaited, hasWaited, decision: latest, rejection: last } = state.context;
  switch (state.value) {
    case 'Idle':
      if (latest === undefined) return ['preempt'];
      // A static pod that is rejected for another reason than room has failed.
      return preemptor === 'static' && last !== undefined && last.reason !== 'NodeAffinity'
        ? ['preempt']
        : [];
    case 'SelectingVictims': {
      const hasThird = hasWaited && !victimsOf(latest).includes('third');
      return [
        ...(hasWaited ? [] : (['twoAwaited'] as const)),
        ...(hasThird ? (['thirdAwaited'] as const) : []),
        ...(['nobodyAwaited', 'noVictims'] as const),
      ];
    }
    case 'Evicting':
      return [...fatesOf(awaited), 'gone'];
    case 'Admitting':
      return ['admitted', 'stillShort', 'refused'];
    default:
      return ['rejected'];
  }
}

function fatesOf(awaited: readonly string[]): readonly SentName[] {
  const names = (['first', 'second', 'third'] as const).filter((name) => awaited.includes(uidOf(name)));
  return names.flatMap((name) => [`${name}Ended`, `${name}Failed`] as const);
}

export function victimsOf(made: PreemptionDecision | undefined): readonly string[] {
  return made?.victims.map(({ candidate }) => candidate.name) ?? [];
}

/** The state, with the parts of its context that decide what may come next. */
function preemptionLabel({ value, context }: PreemptionState): string {
  const { awaited, unendable, hasWaited, decision: latest, rejection: last } = context;
  if (value === 'Idle') return ['Idle', latest && (last?.reason ?? 'admitted')].join();
  return [
    value,
    `awaits ${awaited.join()}`,
    `without ${unendable.join()}`,
    ...(hasWaited ? [`for ${victimsOf(latest).join()}`] : []),
    ...(value === 'Rejecting' ? [last?.reason] : []),
  ].join('; ');
}

/** The outcome of a read. `short` is that of the first read, after which the preemption begins. */
export type Look = Outcome | 'short';

/** Fewer than the preemptor alone needs. */
const FAR_TOO_FEW_CPUS = 1;

export class PreemptionNode {
  readonly #heldCpus: () => number;
  #looks: readonly Look[] = [];
  #latest = nodeOf({ cpu: String(NODE_CPUS) });

  /** `heldCpus`: the CPUs that all pods except the preemptor hold. */
  constructor(heldCpus: () => number) {
    this.#heldCpus = heldCpus;
  }

  /** The number of CPUs at the last read. */
  get cpus(): number {
    return Number(this.#latest.allocatable.cpu);
  }

  /** Sets the outcomes of the next reads. After them, the node does not change. */
  expect(looks: readonly Look[]): void {
    this.#looks = looks;
  }

  /** Gives the node its first size again. */
  restore(): void {
    this.#looks = [];
    this.#latest = nodeOf({ cpu: String(NODE_CPUS) });
  }

  readonly facts = (): NodeFacts => {
    const [look, ...later] = this.#looks;
    if (look === undefined) return this.#latest;
    this.#looks = later;
    const node = nodeOf({ cpu: String(this.#cpusFor(look, later[0])) });
    this.#latest = look === 'refused' ? { ...node, labels: { zone: 'b' } } : node;
    return this.#latest;
  };

  /** Between two reads, the node changes only if the path needs it. */
  #cpusFor(look: Look, next: Look | undefined): number {
    const enough = this.#heldCpus() + CPUS.preemptor;
    switch (look) {
      case 'short':
      case 'stillShort':
        if (next === 'noVictims' || next === 'thirdAwaited') return this.#cpusFor(next, undefined);
        return Math.min(NODE_CPUS, enough - 1);
      case 'thirdAwaited':
        return enough - CPUS.third;
      case 'noVictims':
        return FAR_TOO_FEW_CPUS;
      case 'nobodyAwaited':
      case 'admitted':
        return Math.max(NODE_CPUS, enough);
      default:
        return NODE_CPUS;
    }
  }
}
