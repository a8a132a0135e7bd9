/**
 * Conditions of plugins as taints of the node, as a statechart: one for the node. They are compared every few seconds, and written only
 * where they differ. Which taints these are is decided by src/policies/eviction-plugins/taints-of-conditions.ts.
 *
 * The actor keeps to this: LOOK_DUE is sent when the armed timer has run out, and says whether the taints differ then; `writeTaints` is
 * answered by one of WRITTEN, OUTDATED and WRITE_FAILED. After `abortRequest` there is no answer.
 */
import { assign, setup } from 'xstate';
import { asksOf } from './ask.ts';

export interface TaintsContext {
  /** Writes in a row that have failed. */
  readonly failures: number;
  /** Times in a row that the Node object had changed between reading and writing. */
  readonly conflicts: number;
  /** The server refused the last write: without a change of rights it will do so again. */
  readonly isRefused: boolean;
  /** How long the server asked to be left alone. */
  readonly askedMs: number | undefined;
  /** Why the last write failed; undefined after a success, and where nothing differs any more. */
  readonly problem: string | undefined;
}

export type TaintsEvent =
  | { readonly type: 'LOOK_DUE'; readonly differs: boolean }
  | { readonly type: 'WRITTEN' }
  /** Another client has changed the Node object meanwhile. */
  | { readonly type: 'OUTDATED'; readonly problem: string }
  | {
      readonly type: 'WRITE_FAILED';
      readonly problem: string;
      readonly isRefused: boolean;
      readonly askedMs?: number;
    };

/** So many times in a row taints are read and written again at once after a conflict. */
const CONFLICTS_MAX = 5;

const IN_ORDER: TaintsContext = {
  failures: 0,
  conflicts: 0,
  isRefused: false,
  askedMs: undefined,
  problem: undefined,
};

const ask = asksOf('taints', 'src/actors/plugins/condition-taints.ts');

export const taintsMachine = setup({
  types: {
    context: {} as TaintsContext,
    events: {} as TaintsEvent,
  },
  guards: {
    differs: ({ event }) => event.type === 'LOOK_DUE' && event.differs,
    mayTryAgain: ({ context }) => context.conflicts < CONFLICTS_MAX,
  },
  actions: {
    recordOrder: assign(IN_ORDER),
    countConflict: assign({ conflicts: ({ context }) => context.conflicts + 1 }),
    recordFailure: assign(({ context, event }) =>
      'problem' in event
        ? {
            failures: context.failures + 1,
            conflicts: 0,
            isRefused: 'isRefused' in event && event.isRefused,
            askedMs: 'askedMs' in event ? event.askedMs : undefined,
            problem: event.problem,
          }
        : {},
    ),

    // Asked of the actor.
    armLook: ask(),
    armBackOff: ask(),
    disarmTimer: ask(),
    writeTaints: ask(),
    abortRequest: ask(),
    reportWrite: ask(),
    reportFailure: ask(),
  },
}).createMachine({
  id: 'taints',
  description: 'Conditions of eviction plugins, told as taints of the node',
  context: IN_ORDER,
  initial: 'Settled',
  states: {
    Settled: {
      description: 'The Node object had the taints of the conditions when it was last looked at',
      entry: ['armLook'],
      exit: ['disarmTimer'],
      on: {
        LOOK_DUE: [
          { guard: 'differs', target: 'Writing' },
          { target: 'Settled', reenter: true },
        ],
      },
    },
    Writing: {
      description: 'The Node object is read and its taints are written, for that version of it alone',
      entry: ['writeTaints'],
      exit: ['abortRequest'],
      on: {
        WRITTEN: { actions: ['reportWrite', 'recordOrder'], target: 'Settled' },
        OUTDATED: [
          {
            description: 'Taints of others are not lost: the object is read again',
            guard: 'mayTryAgain',
            actions: ['countConflict'],
            target: 'Writing',
            reenter: true,
          },
          { actions: ['reportFailure', 'recordFailure'], target: 'BackingOff' },
        ],
        WRITE_FAILED: { actions: ['reportFailure', 'recordFailure'], target: 'BackingOff' },
      },
    },
    BackingOff: {
      description:
        'The taints could not be written: waits before the next try, longer where the server refused',
      entry: ['armBackOff'],
      exit: ['disarmTimer'],
      on: {
        LOOK_DUE: [
          { guard: 'differs', target: 'Writing' },
          { description: 'There is nothing to write any more', actions: ['recordOrder'], target: 'Settled' },
        ],
      },
    },
  },
});
