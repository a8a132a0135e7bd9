/** The set-up of the eviction chart (eviction-machine.ts): its context, its events, its guards and actions by name. */
import { assign, raise, setup, stateIn } from 'xstate';
import {
  DOUBT_MEASUREMENTS_MAX,
  DOUBT_PERIOD_MS,
  MEASUREMENT_PERIOD_MS,
  showsMemoryShort,
} from '../policies/eviction/measurement-schedule.ts';
import {
  type Eviction,
  type EvictionEvaluation,
  type EvictionState,
  INITIAL_EVICTION_STATE,
  type VictimChoice,
} from '../policies/eviction/pass.ts';
import type { Shortage } from '../policies/eviction/shortage.ts';
import type { PressureCondition } from '../policies/eviction/signals.ts';
import { asksOf } from './ask.ts';

export interface EvictionContext {
  /** The facts of the last pass for the next one. */
  readonly state: EvictionState;
  /** The shortage for which pods are evicted; undefined if nothing is short. */
  readonly shortage: Shortage | undefined;
  /** The latest ranking: the pods, their figures, and the victim. */
  readonly choice: VictimChoice | undefined;
  /** The pods that were evicted last. */
  readonly evictions: readonly Eviction[];
  /** The UIDs of those among them that have not ended yet, and of those that have. */
  readonly awaited: readonly string[];
  readonly ended: readonly string[];
  /** UIDs of evicted pods that did not end in time. They are not evicted again until they are gone. */
  readonly unendable: readonly string[];
  /** How often memory is still measured for a report of the watch that the figures do not confirm. */
  readonly doubtsLeft: number;
}

export type EvictionEvent =
  /** The memory watch: less, or no longer less, than a threshold is left. */
  | { readonly type: 'MEMORY_SHORT' }
  | { readonly type: 'MEMORY_ENOUGH' }
  /** The pressure watch: tasks wait for memory, or for disks, longer than a threshold allows. */
  | { readonly type: 'MEMORY_STALLED' }
  | { readonly type: 'IO_STALLED' }
  /** Raised by the machine itself: this is being measured from now on. */
  | { readonly type: 'MEASURING_MEMORY' }
  | { readonly type: 'MEASURING_EVERYTHING' }
  | { readonly type: 'EVALUATED'; readonly evaluation: EvictionEvaluation }
  | { readonly type: 'OBSERVATION_FAILED'; readonly problem: string }
  /** `shortage`: by figures that were taken after the removal; undefined if it is over. */
  | { readonly type: 'NODE_RECLAIMED'; readonly shortage: Shortage | undefined }
  | { readonly type: 'RANKED'; readonly choice: VictimChoice }
  /** The figures that the ranking would be made from show that nothing is short any more. */
  | { readonly type: 'RELIEVED' }
  | { readonly type: 'POD_ENDED'; readonly uid: string }
  | { readonly type: 'POD_FAILED'; readonly uid: string; readonly problem: string }
  | { readonly type: 'CLEANED_UP' }
  | { readonly type: 'POD_GONE'; readonly uid: string }
  | { readonly type: 'STOP' };

/** How long eviction waits until the remains of an evicted pod are removed from the disk (the kubelet's). */
const CLEANUP_PATIENCE_MS = 30_000;

/** What others may ask: whether the node has the condition. */
export type EvictionTag = PressureCondition;

export interface OfCondition {
  readonly condition: PressureCondition;
}

export const INITIAL_CONTEXT: EvictionContext = {
  state: INITIAL_EVICTION_STATE,
  shortage: undefined,
  choice: undefined,
  evictions: [],
  awaited: [],
  ended: [],
  unendable: [],
  doubtsLeft: 0,
};

function evicting(evictions: readonly Eviction[]): Partial<EvictionContext> {
  return { evictions, awaited: evictions.map(({ pod }) => pod.uid), ended: [] };
}

function isShortOfMemory({ shortage }: EvictionContext): boolean {
  return shortage?.resource === 'memory';
}

function isLastAwaited({ awaited }: EvictionContext, event: EvictionEvent): boolean {
  return 'uid' in event && awaited.length === 1 && awaited[0] === event.uid;
}

function holds(event: EvictionEvent, condition: PressureCondition): boolean {
  return event.type === 'EVALUATED' && event.evaluation.conditions.includes(condition);
}

function isObserved(event: EvictionEvent, condition: PressureCondition): boolean {
  return event.type === 'EVALUATED' && event.evaluation.observedConditions.includes(condition);
}

const ask = asksOf('eviction', 'src/agent/actors/eviction/eviction-manager.ts');

export const evictionSetup = setup({
  types: {
    context: {} as EvictionContext,
    events: {} as EvictionEvent,
    tags: {} as EvictionTag,
  },
  delays: {
    period: MEASUREMENT_PERIOD_MS,
    /** Until memory is measured again because the figures did not confirm the report of the watch. */
    doubt: DOUBT_PERIOD_MS,
    cleanupPatience: CLEANUP_PATIENCE_MS,
  },
  guards: {
    isOverLimit: ({ event }) => event.type === 'EVALUATED' && event.evaluation.overLimit.length > 0,
    mustReclaimNode: ({ event }) =>
      event.type === 'EVALUATED' && (event.evaluation.shortage?.reclaim.length ?? 0) > 0,
    isShort: ({ event }) => event.type === 'EVALUATED' && event.evaluation.shortage !== undefined,
    isMemoryDue: stateIn({ Schedule: { Memory: 'Due' } }),
    isEverythingDue: stateIn({ Schedule: { Everything: 'Due' } }),
    isObserving: stateIn({ Pass: 'Observing' }),
    isShortOfMemory: ({ context }) => isShortOfMemory(context),
    isShortOfOther: ({ context }) => context.shortage !== undefined && !isShortOfMemory(context),
    isNotShortOfMemory: ({ context }) => !isShortOfMemory(context),
    showsMemoryShort: ({ event }) => event.type === 'EVALUATED' && showsMemoryShort(event.evaluation.state),
    hasDoubtsLeft: ({ context }) => context.doubtsLeft > 0,
    isRelieved: ({ event }) => event.type === 'NODE_RECLAIMED' && event.shortage === undefined,
    hasVictim: ({ event }) => event.type === 'RANKED' && event.choice.eviction !== undefined,
    isAwaited: ({ context, event }) => 'uid' in event && context.awaited.includes(event.uid),
    isLastAwaited: ({ context, event }) => isLastAwaited(context, event),
    isLastAndNoneHasEnded: ({ context, event }) =>
      isLastAwaited(context, event) && context.ended.length === 0,
    isObserved: ({ event }, { condition }: OfCondition) =>
      holds(event, condition) && isObserved(event, condition),
    isLingering: ({ event }, { condition }: OfCondition) =>
      holds(event, condition) && !isObserved(event, condition),
    isOver: ({ event }, { condition }: OfCondition) => !holds(event, condition),
  },
  actions: {
    recordEvaluation: assign(({ event }) =>
      event.type === 'EVALUATED'
        ? { state: event.evaluation.state, shortage: event.evaluation.shortage }
        : {},
    ),
    recordOverLimit: assign(({ event }) =>
      event.type === 'EVALUATED' ? evicting(event.evaluation.overLimit) : {},
    ),
    recordReclaim: assign({
      shortage: ({ context, event }) => (event.type === 'NODE_RECLAIMED' ? event.shortage : context.shortage),
    }),
    recordRelief: assign({ shortage: undefined }),
    recordChoice: assign({
      choice: ({ context, event }) => (event.type === 'RANKED' ? event.choice : context.choice),
    }),
    recordVictim: assign(({ event }) =>
      event.type === 'RANKED' ? evicting(event.choice.eviction ? [event.choice.eviction] : []) : {},
    ),
    recordEnd: assign(({ context, event }) =>
      event.type === 'POD_ENDED'
        ? {
            awaited: context.awaited.filter((uid) => uid !== event.uid),
            ended: [...context.ended, event.uid],
          }
        : {},
    ),
    recordFailure: assign(({ context, event }) =>
      event.type === 'POD_FAILED'
        ? {
            awaited: context.awaited.filter((uid) => uid !== event.uid),
            unendable: [...context.unendable, event.uid],
          }
        : {},
    ),
    forgetUnendable: assign({
      unendable: ({ context, event }) =>
        'uid' in event ? context.unendable.filter((uid) => uid !== event.uid) : context.unendable,
    }),

    beginDoubt: assign({ doubtsLeft: DOUBT_MEASUREMENTS_MAX }),
    spendDoubt: assign({ doubtsLeft: ({ context }) => context.doubtsLeft - 1 }),
    endDoubt: assign({ doubtsLeft: 0 }),
    raiseMeasuringMemory: raise({ type: 'MEASURING_MEMORY' }),
    raiseMeasuringEverything: raise({ type: 'MEASURING_EVERYTHING' }),
    raiseCleanedUp: raise({ type: 'CLEANED_UP' }),

    // What the machine asks for; the actor provides it.
    measureMemory: ask(),
    measureEverything: ask(),
    hurryMeasurement: ask(),
    reportFailedObservation: ask(),
    reportShortage: ask(),
    reclaimNode: ask(),
    rankPods: ask(),
    reportChoice: ask(),
    endPods: ask(),
    reportFailedPod: ask(),
    awaitCleanup: ask(),
    reportPressure: ask<OfCondition>(),
    reportNoPressure: ask<OfCondition>(),
  },
});
