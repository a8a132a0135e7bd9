/**
 * How a node is kept from running out of memory, disk and process IDs, as a statechart: one actor per node. What is short, and
 * who has to go for it, is said by src/policies/eviction-pass.ts. Pods end by `SyncPodKill` alone (I9), and nobody is evicted
 * before those that were asked to end have ended and been cleaned up after.
 *
 * Whoever runs it promises: OBSERVE whenever it is time to look, asked for by `armObservation`; `evaluate` is answered by one
 * EVALUATED or OBSERVATION_FAILED, from figures that are taken after it was asked; `reclaimNode` by one NODE_RECLAIMED, unless
 * OBSERVE comes first;
 * `rankPods` by one RANKED or RELIEVED; each pod awaited by one POD_ENDED or POD_FAILED, the latter also when it takes too long;
 * `awaitCleanup` by CLEANED_UP, also when that takes too long; POD_GONE for every pod that is no more.
 */
import { assign, setup } from 'xstate';
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
  /** What the last pass left to the next. */
  readonly state: EvictionState;
  /** What pods are evicted for; undefined where nothing is short. */
  readonly shortage: Shortage | undefined;
  /** The latest: who was ranked, by which figures, and who was chosen. */
  readonly choice: VictimChoice | undefined;
  /** The latest pods that were asked to end. */
  readonly evictions: readonly Eviction[];
  /** Of these, the UIDs of those whose end is still to come, and of those that have ended. */
  readonly awaited: readonly string[];
  readonly ended: readonly string[];
  /** UIDs of pods that did not end in time. They are passed over until they are gone. */
  readonly unendable: readonly string[];
}

export type EvictionEvent =
  | { readonly type: 'OBSERVE' }
  | { readonly type: 'EVALUATED'; readonly evaluation: EvictionEvaluation }
  | { readonly type: 'OBSERVATION_FAILED'; readonly problem: string }
  /** `shortage`: as measured after that; undefined where it is over. */
  | { readonly type: 'NODE_RECLAIMED'; readonly shortage: Shortage | undefined }
  | { readonly type: 'RANKED'; readonly choice: VictimChoice }
  /** Measured once more before any pod is touched, nothing is short. */
  | { readonly type: 'RELIEVED' }
  | { readonly type: 'POD_ENDED'; readonly uid: string }
  | { readonly type: 'POD_FAILED'; readonly uid: string; readonly problem: string }
  | { readonly type: 'CLEANED_UP' }
  | { readonly type: 'POD_GONE'; readonly uid: string };

/** What others may ask: whether the node has the condition. */
export type EvictionTag = PressureCondition;

interface OfCondition {
  readonly condition: PressureCondition;
}

const INITIAL_CONTEXT: EvictionContext = {
  state: INITIAL_EVICTION_STATE,
  shortage: undefined,
  choice: undefined,
  evictions: [],
  awaited: [],
  ended: [],
  unendable: [],
};

/** What is asked to end now. */
function endOf(evictions: readonly Eviction[]): Partial<EvictionContext> {
  return { evictions, awaited: evictions.map(({ pod }) => pod.uid), ended: [] };
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

const ask = asksOf('eviction', 'src/actors/eviction/eviction-manager.ts');

export const evictionMachine = setup({
  types: {
    context: {} as EvictionContext,
    events: {} as EvictionEvent,
    tags: {} as EvictionTag,
  },
  guards: {
    isOverLimit: ({ event }) => event.type === 'EVALUATED' && event.evaluation.overLimit.length > 0,
    mustReclaimNode: ({ event }) =>
      event.type === 'EVALUATED' && (event.evaluation.shortage?.reclaim.length ?? 0) > 0,
    isShort: ({ event }) => event.type === 'EVALUATED' && event.evaluation.shortage !== undefined,
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
      event.type === 'EVALUATED' ? endOf(event.evaluation.overLimit) : {},
    ),
    recordReclaim: assign({
      shortage: ({ context, event }) => (event.type === 'NODE_RECLAIMED' ? event.shortage : context.shortage),
    }),
    recordRelief: assign({ shortage: undefined }),
    recordChoice: assign({
      choice: ({ context, event }) => (event.type === 'RANKED' ? event.choice : context.choice),
    }),
    recordVictim: assign(({ event }) =>
      event.type === 'RANKED' ? endOf(event.choice.eviction ? [event.choice.eviction] : []) : {},
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

    // What the machine asks for; the actor provides it.
    armObservation: ask(),
    disarmObservation: ask(),
    evaluate: ask(),
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
}).createMachine({
  id: 'eviction',
  description: 'Ending pods before the node runs out of something',
  context: INITIAL_CONTEXT,
  type: 'parallel',
  on: {
    POD_GONE: { actions: ['forgetUnendable'] },
  },
  states: {
    Pass: {
      description: 'One look at the node, and what comes of it',
      initial: 'Observing',
      states: {
        Observing: {
          description:
            'Waits until it is time to look: a period is over, a threshold is near, a pod has ended',
          entry: ['armObservation'],
          exit: ['disarmObservation'],
          on: {
            OBSERVE: { target: 'Evaluating' },
          },
        },
        Evaluating: {
          description: 'The node is being measured, and held against its thresholds',
          entry: ['evaluate'],
          on: {
            EVALUATED: [
              {
                description: 'Limits of their own come first, whatever else is short',
                guard: 'isOverLimit',
                actions: ['recordEvaluation', 'recordOverLimit'],
                target: 'Evicting',
              },
              {
                guard: 'mustReclaimNode',
                actions: ['recordEvaluation', 'reportShortage'],
                target: 'ReclaimingNode',
              },
              { guard: 'isShort', actions: ['recordEvaluation', 'reportShortage'], target: 'Ranking' },
              { actions: ['recordEvaluation'], target: 'Observing' },
            ],
            OBSERVATION_FAILED: { actions: ['reportFailedObservation'], target: 'Observing' },
          },
        },
        ReclaimingNode: {
          description: 'Dead containers and unused images go before any pod; then it is measured again',
          entry: ['reclaimNode'],
          on: {
            NODE_RECLAIMED: [
              { guard: 'isRelieved', actions: ['recordReclaim'], target: 'Observing' },
              { actions: ['recordReclaim'], target: 'Ranking' },
            ],
            OBSERVE: {
              description: 'Memory has become short meanwhile: that does not wait for what is being removed',
              target: 'Evaluating',
            },
          },
        },
        Ranking: {
          description: 'Who would go is being put in order, by figures that are measured once more',
          entry: ['rankPods'],
          on: {
            RANKED: [
              {
                guard: 'hasVictim',
                actions: ['recordChoice', 'recordVictim', 'reportChoice'],
                target: 'Evicting',
              },
              {
                description: 'Nobody may go, or somebody is ending already and is waited for',
                actions: ['recordChoice', 'reportChoice'],
                target: 'Observing',
              },
            ],
            RELIEVED: { actions: ['recordRelief'], target: 'Observing' },
          },
        },
        Evicting: {
          description: 'Pods have been asked to end; each is waited for, whatever becomes of the others',
          entry: ['endPods'],
          on: {
            POD_ENDED: [
              { guard: 'isLastAwaited', actions: ['recordEnd'], target: 'CleaningUp' },
              { guard: 'isAwaited', actions: ['recordEnd'] },
            ],
            POD_FAILED: [
              {
                description: 'None has ended: there is nothing to clean up',
                guard: 'isLastAndNoneHasEnded',
                actions: ['recordFailure', 'reportFailedPod'],
                target: 'Observing',
              },
              {
                guard: 'isLastAwaited',
                actions: ['recordFailure', 'reportFailedPod'],
                target: 'CleaningUp',
              },
              { guard: 'isAwaited', actions: ['recordFailure', 'reportFailedPod'] },
            ],
          },
        },
        CleaningUp: {
          description:
            'What the pods had on the local disk is being removed: before, the next look would deceive',
          entry: ['awaitCleanup'],
          on: {
            CLEANED_UP: { target: 'Observing' },
          },
        },
      },
    },
    Pressure: {
      description: 'What the node tells of its state, each condition for itself',
      type: 'parallel',
      states: {
        Memory: {
          initial: 'Absent',
          states: {
            Absent: {
              on: {
                EVALUATED: {
                  guard: { type: 'isObserved', params: { condition: 'MemoryPressure' } },
                  actions: [{ type: 'reportPressure', params: { condition: 'MemoryPressure' } }],
                  target: 'Observed',
                },
              },
            },
            Observed: {
              tags: ['MemoryPressure'],
              on: {
                EVALUATED: [
                  {
                    guard: { type: 'isLingering', params: { condition: 'MemoryPressure' } },
                    target: 'Lingering',
                  },
                  {
                    guard: { type: 'isOver', params: { condition: 'MemoryPressure' } },
                    actions: [{ type: 'reportNoPressure', params: { condition: 'MemoryPressure' } }],
                    target: 'Absent',
                  },
                ],
              },
            },
            Lingering: {
              description: 'The pressure is over, the transition period is not',
              tags: ['MemoryPressure'],
              on: {
                EVALUATED: [
                  {
                    guard: { type: 'isObserved', params: { condition: 'MemoryPressure' } },
                    target: 'Observed',
                  },
                  {
                    guard: { type: 'isOver', params: { condition: 'MemoryPressure' } },
                    actions: [{ type: 'reportNoPressure', params: { condition: 'MemoryPressure' } }],
                    target: 'Absent',
                  },
                ],
              },
            },
          },
        },
        Disk: {
          initial: 'Absent',
          states: {
            Absent: {
              on: {
                EVALUATED: {
                  guard: { type: 'isObserved', params: { condition: 'DiskPressure' } },
                  actions: [{ type: 'reportPressure', params: { condition: 'DiskPressure' } }],
                  target: 'Observed',
                },
              },
            },
            Observed: {
              tags: ['DiskPressure'],
              on: {
                EVALUATED: [
                  {
                    guard: { type: 'isLingering', params: { condition: 'DiskPressure' } },
                    target: 'Lingering',
                  },
                  {
                    guard: { type: 'isOver', params: { condition: 'DiskPressure' } },
                    actions: [{ type: 'reportNoPressure', params: { condition: 'DiskPressure' } }],
                    target: 'Absent',
                  },
                ],
              },
            },
            Lingering: {
              description: 'The pressure is over, the transition period is not',
              tags: ['DiskPressure'],
              on: {
                EVALUATED: [
                  {
                    guard: { type: 'isObserved', params: { condition: 'DiskPressure' } },
                    target: 'Observed',
                  },
                  {
                    guard: { type: 'isOver', params: { condition: 'DiskPressure' } },
                    actions: [{ type: 'reportNoPressure', params: { condition: 'DiskPressure' } }],
                    target: 'Absent',
                  },
                ],
              },
            },
          },
        },
        PID: {
          initial: 'Absent',
          states: {
            Absent: {
              on: {
                EVALUATED: {
                  guard: { type: 'isObserved', params: { condition: 'PIDPressure' } },
                  actions: [{ type: 'reportPressure', params: { condition: 'PIDPressure' } }],
                  target: 'Observed',
                },
              },
            },
            Observed: {
              tags: ['PIDPressure'],
              on: {
                EVALUATED: [
                  {
                    guard: { type: 'isLingering', params: { condition: 'PIDPressure' } },
                    target: 'Lingering',
                  },
                  {
                    guard: { type: 'isOver', params: { condition: 'PIDPressure' } },
                    actions: [{ type: 'reportNoPressure', params: { condition: 'PIDPressure' } }],
                    target: 'Absent',
                  },
                ],
              },
            },
            Lingering: {
              description: 'The pressure is over, the transition period is not',
              tags: ['PIDPressure'],
              on: {
                EVALUATED: [
                  { guard: { type: 'isObserved', params: { condition: 'PIDPressure' } }, target: 'Observed' },
                  {
                    guard: { type: 'isOver', params: { condition: 'PIDPressure' } },
                    actions: [{ type: 'reportNoPressure', params: { condition: 'PIDPressure' } }],
                    target: 'Absent',
                  },
                ],
              },
            },
          },
        },
      },
    },
  },
});
