/**
 * How room is made for one critical pod, as a statechart: one actor per pod that lacks only resources. The victims are chosen by
 * src/agent/policies/preemption/victim-plan.ts. They end by `SyncPodKill` alone (I9).
 *
 * The actor keeps to this: `selectVictims` is answered by one VICTIMS_SELECTED or NO_VICTIMS; each awaited pod by one
 * VICTIM_ENDED or VICTIM_FAILED, the latter also when its end takes too long; `tryAdmission` by one ADMITTED, STILL_SHORT or
 * REFUSED; `rejectPreemptor` by REJECTED. None of these is sent after PREEMPTOR_GONE. In the states with the tag
 * `roomPromised` no other pod gets the room.
 */
import { assign, setup } from 'xstate';
import type { Rejection } from '../policies/admission/rejection.ts';
import type { PreemptionDecision } from '../policies/preemption/victims.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import { asksOf } from './ask.ts';

export interface PreemptionInput {
  readonly preemptor: PodReference;
}

export interface PreemptionContext extends PreemptionInput {
  /** The latest decision: the candidates, the distance of each from the missing amounts, and the victims. */
  readonly decision: PreemptionDecision | undefined;
  /** UIDs of the awaited pods that have not ended. */
  readonly awaited: readonly string[];
  /** UIDs of pods that could not be ended. They are not chosen again. */
  readonly unendable: readonly string[];
  /** The latest decision had a pod to wait for. */
  readonly hasWaited: boolean;
  readonly rejection: Rejection | undefined;
}

export type PreemptionEvent =
  | { readonly type: 'PREEMPT' }
  /** `awaited`: the victims, and pods that are ending for another reason and whose room is needed. */
  | {
      readonly type: 'VICTIMS_SELECTED';
      readonly decision: PreemptionDecision;
      readonly awaited: readonly string[];
    }
  | {
      readonly type: 'NO_VICTIMS';
      readonly decision: PreemptionDecision | undefined;
      readonly rejection: Rejection;
    }
  | { readonly type: 'VICTIM_ENDED'; readonly uid: string }
  | { readonly type: 'VICTIM_FAILED'; readonly uid: string; readonly problem: string }
  | { readonly type: 'ADMITTED' }
  | { readonly type: 'STILL_SHORT'; readonly rejection: Rejection }
  | { readonly type: 'REFUSED'; readonly rejection: Rejection }
  | { readonly type: 'REJECTED' }
  | { readonly type: 'PREEMPTOR_GONE' };

/** What other parts may ask: whether room that is free, or becomes free, is reserved for this pod. */
export type PreemptionTag = 'roomPromised';

function initialContext({ input }: { input: PreemptionInput }): PreemptionContext {
  return {
    ...input,
    decision: undefined,
    awaited: [],
    unendable: [],
    hasWaited: false,
    rejection: undefined,
  };
}

const ask = asksOf('preemption', 'src/agent/actors/start/preemptions.ts');

export const preemptionMachine = setup({
  types: {
    context: {} as PreemptionContext,
    events: {} as PreemptionEvent,
    input: {} as PreemptionInput,
    tags: {} as PreemptionTag,
  },
  guards: {
    awaitsNone: ({ event }) => event.type === 'VICTIMS_SELECTED' && event.awaited.length === 0,
    isLastAwaited: ({ context, event }) =>
      'uid' in event && context.awaited.every((uid) => uid === event.uid),
    hasWaited: ({ context }) => context.hasWaited,
  },
  actions: {
    beginAnew: assign(({ context: { preemptor } }) => initialContext({ input: { preemptor } })),
    recordDecision: assign(({ context, event }) => ({
      decision: 'decision' in event ? event.decision : context.decision,
      awaited: 'awaited' in event ? event.awaited : [],
      hasWaited: 'awaited' in event && event.awaited.length > 0,
    })),
    recordEnd: assign({
      awaited: ({ context, event }) =>
        'uid' in event ? context.awaited.filter((uid) => uid !== event.uid) : context.awaited,
    }),
    recordFailure: assign({
      unendable: ({ context, event }) =>
        event.type === 'VICTIM_FAILED' ? [...context.unendable, event.uid] : context.unendable,
    }),
    recordRejection: assign({
      rejection: ({ context, event }) => ('rejection' in event ? event.rejection : context.rejection),
    }),

    // Asked of the actor.
    selectVictims: ask(),
    reportDecision: ask(),
    endVictims: ask(),
    reportFailedVictim: ask(),
    tryAdmission: ask(),
    rejectPreemptor: ask(),
  },
}).createMachine({
  id: 'preemption',
  description: 'Makes room for one critical pod by ending others',
  context: initialContext,
  initial: 'Idle',
  on: {
    PREEMPTOR_GONE: {
      description: 'The victims go on ending, but no pod waits for their end any more',
      actions: ['beginAnew'],
      target: '.Idle',
    },
  },
  states: {
    Idle: {
      description: 'The pod has not asked for room, or its request has been decided',
      on: {
        PREEMPT: { actions: ['beginAnew'], target: 'SelectingVictims' },
      },
    },
    SelectingVictims: {
      description: 'The victims are being chosen, by what pods hold now and what is reserved for other pods',
      entry: ['selectVictims'],
      on: {
        VICTIMS_SELECTED: [
          {
            description: 'There is room without a victim',
            guard: 'awaitsNone',
            actions: ['recordDecision'],
            target: 'Admitting',
          },
          { actions: ['recordDecision'], target: 'Evicting' },
        ],
        NO_VICTIMS: { actions: ['recordDecision', 'recordRejection', 'reportDecision'], target: 'Rejecting' },
      },
    },
    Evicting: {
      description: 'The victims are ending. Waits for the end of each',
      tags: ['roomPromised'],
      entry: ['reportDecision', 'endVictims'],
      on: {
        VICTIM_ENDED: [
          { guard: 'isLastAwaited', actions: ['recordEnd'], target: 'Admitting' },
          { actions: ['recordEnd'] },
        ],
        VICTIM_FAILED: [
          {
            guard: 'isLastAwaited',
            actions: ['recordEnd', 'recordFailure', 'reportFailedVictim'],
            target: 'Admitting',
          },
          { actions: ['recordEnd', 'recordFailure', 'reportFailedVictim'] },
        ],
      },
    },
    Admitting: {
      description: 'All awaited pods have ended: admission is tried again with the present room',
      tags: ['roomPromised'],
      entry: ['tryAdmission'],
      on: {
        ADMITTED: { target: 'Idle' },
        STILL_SHORT: [
          {
            description:
              'A victim did not end, or another pod took the room. Victims are chosen anew, as long as there is a pod to wait for',
            guard: 'hasWaited',
            target: 'SelectingVictims',
          },
          { actions: ['recordRejection'], target: 'Rejecting' },
        ],
        REFUSED: { actions: ['recordRejection'], target: 'Rejecting' },
      },
    },
    Rejecting: {
      description: 'No room can be made, or the pod is refused for another reason than room',
      entry: ['rejectPreemptor'],
      on: {
        REJECTED: { target: 'Idle' },
      },
    },
  },
});
