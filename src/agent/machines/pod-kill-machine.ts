/**
 * The end of one pod that plugins have chosen, as a statechart: one actor per pod that is being killed. A kill goes on until the pod is gone; it is
 * not withdrawn. Whether the API server or this node ends the pod, and when the request is repeated, is decided by
 * src/agent/policies/eviction-plugins/pod-kill.ts.
 *
 * The actor keeps to this: `requestKill` is answered by one of TAKEN, ENDING and REFUSED, which may come at once; the first request for a pod that is
 * ending by then is never REFUSED. After `abortRequest` there is no answer. OVERDUE is sent when the armed limit has run out; HASTEN when a plugin
 * wants the pod gone within another grace period; POD_TERMINATED and POD_GONE when that has happened.
 */
import { assign, setup } from 'xstate';
import type { KillRefusal } from '../policies/eviction-plugins/pod-kill.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import type { PodKillerName } from '../../types/node-settings.ts';
import { asksOf } from './ask.ts';

export interface PodKillInput {
  readonly pod: PodReference;
  /** The plugin that chose the pod, and why it did. */
  readonly plugin: string;
  readonly reason: string;
  readonly killer: PodKillerName;
  readonly gracePeriodSeconds: number;
}

/** What ends the kill: the pod's end on this node, or the end of its object. */
export type AwaitedEnd = 'Node' | 'Object';

export interface PodKillContext extends PodKillInput {
  /** Undefined while the pod has not been told to end. */
  readonly awaits: AwaitedEnd | undefined;
  /** None of its containers runs any more. */
  readonly hasTerminated: boolean;
  /** Why the latest request was not taken; undefined after one that was taken. */
  readonly refusal: KillRefusal | undefined;
  /** Refusals of the same kind in a row. */
  readonly failures: number;
  /** Why the pod has not ended in time. */
  readonly overdue: string | undefined;
}

export type PodKillEvent =
  | { readonly type: 'TAKEN'; readonly awaits: AwaitedEnd }
  /** Another part has ended it, or somebody else has deleted its object. */
  | { readonly type: 'ENDING'; readonly awaits: AwaitedEnd }
  | { readonly type: 'REFUSED'; readonly refusal: KillRefusal }
  | { readonly type: 'HASTEN'; readonly gracePeriodSeconds: number }
  | { readonly type: 'OVERDUE'; readonly problem: string }
  | { readonly type: 'POD_TERMINATED' }
  /** There is no pod of its UID any more: neither an object nor anything on this node. */
  | { readonly type: 'POD_GONE' }
  | { readonly type: 'STOP' };

function initialContext({ input }: { input: PodKillInput }): PodKillContext {
  return {
    ...input,
    awaits: undefined,
    hasTerminated: false,
    refusal: undefined,
    failures: 0,
    overdue: undefined,
  };
}

const ask = asksOf('pod kill', 'src/agent/actors/plugins/plugin-pod-kills.ts');

export const podKillMachine = setup({
  types: {
    context: {} as PodKillContext,
    events: {} as PodKillEvent,
    input: {} as PodKillInput,
  },
  /** The actor provides the delay, since it is random. */
  delays: { retry: 1_000 },
  guards: {
    /** A pod without running containers cannot end any faster. */
    isShorter: ({ context, event }) =>
      event.type === 'HASTEN' &&
      event.gracePeriodSeconds < context.gracePeriodSeconds &&
      !context.hasTerminated,
    awaitsObject: ({ context }) => context.awaits === 'Object',
    isOver: ({ context, event }) => 'awaits' in event && event.awaits === 'Node' && context.hasTerminated,
    hasBeenTaken: ({ context }) => context.awaits !== undefined,
  },
  actions: {
    recordTaken: assign(({ context, event }) => ({
      awaits: 'awaits' in event ? event.awaits : context.awaits,
      refusal: undefined,
      failures: 0,
      overdue: undefined,
    })),
    recordRefusal: assign(({ context, event }) => {
      if (event.type !== 'REFUSED') return {};
      const isAnother = event.refusal.kind !== context.refusal?.kind;
      return { refusal: event.refusal, failures: isAnother ? 1 : context.failures + 1 };
    }),
    recordGracePeriod: assign(({ event }) =>
      event.type === 'HASTEN' ? { gracePeriodSeconds: event.gracePeriodSeconds } : {},
    ),
    recordTerminated: assign({ hasTerminated: true }),
    recordOverdue: assign(({ event }) => (event.type === 'OVERDUE' ? { overdue: event.problem } : {})),

    // Asked of the actor.
    requestKill: ask(),
    abortRequest: ask(),
    armLimit: ask(),
    disarmLimit: ask(),
    reportTaken: ask(),
    reportEnding: ask(),
    reportRefusal: ask(),
    reportOverdue: ask(),
    reportEnded: ask(),
  },
}).createMachine({
  id: 'podKill',
  description: 'The end of one pod that eviction plugins have chosen',
  context: initialContext,
  initial: 'Requesting',
  on: {
    POD_GONE: { target: '.Ended' },
    STOP: { target: '.Stopped' },
  },
  states: {
    Requesting: {
      description: 'The API server, or this node, is asked to end the pod',
      entry: ['requestKill'],
      exit: ['abortRequest'],
      on: {
        TAKEN: [
          {
            description: 'The pod has ended before the answer came',
            guard: 'isOver',
            actions: ['recordTaken', 'reportTaken'],
            target: 'Ended',
          },
          { actions: ['recordTaken', 'reportTaken'], target: 'AwaitingEnd' },
        ],
        ENDING: [
          { guard: 'isOver', actions: ['recordTaken', 'reportEnding'], target: 'Ended' },
          { actions: ['recordTaken', 'reportEnding'], target: 'AwaitingEnd' },
        ],
        REFUSED: { actions: ['reportRefusal', 'recordRefusal'], target: 'BackingOff' },
        HASTEN: { guard: 'isShorter', actions: ['recordGracePeriod'], target: 'Requesting', reenter: true },
        POD_TERMINATED: {
          description:
            'The pod may have ended because of the request, whose answer has not come yet: it waits for the answer',
          actions: ['recordTerminated'],
        },
      },
    },
    BackingOff: {
      description:
        'The request was refused or not answered. It is repeated after the time that the server has named, or after a longer time with each failure',
      after: { retry: [{ guard: 'hasBeenTaken', target: 'Hastening' }, { target: 'Requesting' }] },
      on: {
        HASTEN: {
          description: 'The shorter grace period goes with the next try, not earlier',
          guard: 'isShorter',
          actions: ['recordGracePeriod'],
        },
        POD_TERMINATED: [
          {
            description: 'The pod has ended within the longer grace period',
            guard: 'awaitsObject',
            actions: ['recordTerminated'],
            target: 'AwaitingEnd',
          },
          { description: 'The pod has ended by itself, or another part has ended it', target: 'Ended' },
        ],
      },
    },
    AwaitingEnd: {
      description: 'The pod is ending. Waits for its end on this node, or until its object is gone',
      entry: ['armLimit'],
      exit: ['disarmLimit'],
      on: {
        POD_TERMINATED: [{ guard: 'awaitsObject', actions: ['recordTerminated'] }, { target: 'Ended' }],
        HASTEN: { guard: 'isShorter', actions: ['recordGracePeriod'], target: 'Hastening' },
        OVERDUE: { actions: ['recordOverdue', 'reportOverdue'], target: 'Overdue' },
      },
    },
    Hastening: {
      description: 'The pod is ending. Its end is requested again with a shorter grace period',
      entry: ['requestKill'],
      exit: ['abortRequest'],
      on: {
        TAKEN: { actions: ['recordTaken'], target: 'AwaitingEnd' },
        ENDING: { actions: ['recordTaken'], target: 'AwaitingEnd' },
        REFUSED: { actions: ['reportRefusal', 'recordRefusal'], target: 'BackingOff' },
        HASTEN: { guard: 'isShorter', actions: ['recordGracePeriod'], target: 'Hastening', reenter: true },
        POD_TERMINATED: [
          { guard: 'awaitsObject', actions: ['recordTerminated'], target: 'AwaitingEnd' },
          { target: 'Ended' },
        ],
      },
    },
    Overdue: {
      description:
        'The pod has not ended in time. The kill goes on; another request is sent only for a shorter grace period',
      on: {
        POD_TERMINATED: [{ guard: 'awaitsObject', actions: ['recordTerminated'] }, { target: 'Ended' }],
        HASTEN: { guard: 'isShorter', actions: ['recordGracePeriod'], target: 'Hastening' },
      },
    },
    Ended: {
      description: 'The pod has ended, or is gone',
      entry: ['reportEnded'],
    },
    Stopped: {
      description: 'The agent stops. A request that the server has got is not taken back',
      type: 'final',
    },
  },
});
