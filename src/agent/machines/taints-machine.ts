/**
 * Conditions of plugins as taints, as a statechart: one for the node, and one for its CustomNodeResource where there are such objects. They are
 * compared every few seconds, and written only where they differ. Which taints these are is decided by src/agent/policies/eviction-plugins/taints-of-conditions.ts.
 */
import { assign, type DoneActorEvent, type ErrorActorEvent, setup } from 'xstate';
import { TAINTS_PERIOD_MS, taintsBackOffMs } from '../policies/eviction-plugins/taints-of-conditions.ts';
import { asksOf, requestsOf } from './ask.ts';

export interface TaintsContext {
  /** Writes in a row that have failed. */
  readonly failures: number;
  /** Times in a row that the object had changed between reading and writing. */
  readonly conflicts: number;
  /** The server refused the last write: without a change of rights it will do so again. */
  readonly isRefused: boolean;
  /** How long the server asked the client to wait. */
  readonly askedMs: number | undefined;
  /** Why the last write failed; undefined after a success, and where nothing differs any more. */
  readonly problem: string | undefined;
}

export interface TaintsFailure {
  readonly problem: string;
  /** Another client has changed the object meanwhile. */
  readonly isOutdated: boolean;
  readonly isRefused: boolean;
  readonly askedMs: number | undefined;
}

export type TaintsEvent =
  | { readonly type: 'STOP' }
  | DoneActorEvent<'Same' | 'Written', 'writeTaints'>
  | ErrorActorEvent<TaintsFailure, 'writeTaints'>;

/** So many times in a row taints are read and written again at once after a conflict. */
const CONFLICTS_MAX = 5;

const IN_ORDER: TaintsContext = {
  failures: 0,
  conflicts: 0,
  isRefused: false,
  askedMs: undefined,
  problem: undefined,
};

const EFFECTS = ['taints', 'src/agent/actors/plugins/condition-taints.ts'] as const;
const ask = asksOf(...EFFECTS);
const request = requestsOf(...EFFECTS);

export const taintsMachine = setup({
  types: {
    context: {} as TaintsContext,
    events: {} as TaintsEvent,
  },
  actors: { writeTaints: request<'Same' | 'Written', undefined>() },
  delays: {
    look: TAINTS_PERIOD_MS,
    backOff: ({ context }) => taintsBackOffMs(context.failures, context.isRefused, context.askedMs),
  },
  guards: {
    isSame: ({ event }) => 'output' in event && event.output === 'Same',
    mayTryAgain: ({ context, event }) =>
      'error' in event && event.error.isOutdated && context.conflicts < CONFLICTS_MAX,
  },
  actions: {
    recordOrder: assign(IN_ORDER),
    countConflict: assign({ conflicts: ({ context }) => context.conflicts + 1 }),
    recordFailure: assign(({ context, event }) => {
      if (!('error' in event)) return {};
      const { problem, isRefused, askedMs } = event.error;
      return { failures: context.failures + 1, conflicts: 0, isRefused, askedMs, problem };
    }),

    // Asked of the actor.
    reportWrite: ask(),
    reportFailure: ask(),
  },
}).createMachine({
  id: 'taints',
  description: 'Conditions of eviction plugins, written as taints of the node or its CustomNodeResource',
  context: IN_ORDER,
  initial: 'Settled',
  on: { STOP: { target: '.Stopped' } },
  states: {
    Settled: {
      description: 'The object had the taints of the conditions when they were last compared',
      after: { look: { target: 'Writing' } },
    },
    Writing: {
      description:
        'Where taints and conditions differ, the object is read, and the taints are written for that version alone',
      invoke: {
        id: 'writeTaints',
        src: 'writeTaints',
        onDone: [
          { guard: 'isSame', actions: ['recordOrder'], target: 'Settled' },
          { actions: ['reportWrite', 'recordOrder'], target: 'Settled' },
        ],
        onError: [
          {
            description: 'The object has changed: it is read again, so that taints of others are not lost',
            guard: 'mayTryAgain',
            actions: ['countConflict'],
            target: 'Writing',
            reenter: true,
          },
          { actions: ['reportFailure', 'recordFailure'], target: 'BackingOff' },
        ],
      },
    },
    BackingOff: {
      description:
        'The taints could not be written. That is tried again after a while, later if the server refused',
      after: { backOff: { target: 'Writing' } },
    },
    Stopped: { type: 'final' },
  },
});
