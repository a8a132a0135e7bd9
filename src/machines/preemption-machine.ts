/**
 * How room is made for one critical pod, as a statechart: one actor per pod that is admitted but for want of resources. Who
 * has to go is said by src/policies/preemption-plan.ts. Victims end by `SyncPodKill` alone (I9).
 *
 * Whoever runs it promises: `selectVictims` is answered by one VICTIMS_SELECTED or NO_VICTIMS; each pod awaited by one
 * VICTIM_ENDED or VICTIM_FAILED, the latter also when it takes too long; `tryAdmission` by one ADMITTED, STILL_SHORT or
 * REFUSED; `rejectPreemptor` by REJECTED. After PREEMPTOR_GONE none of these comes any more. As long as room is promised
 * (the tag), it is nobody else's.
 */
import { assign, setup } from 'xstate';
import type { Rejection } from '../policies/admission/rejection.ts';
import type { PreemptionDecision } from '../policies/preemption/victims.ts';
import type { PodReference } from '../types/event-recorder.ts';
import { asksOf } from './ask.ts';

export interface PreemptionInput {
  readonly preemptor: PodReference;
}

export interface PreemptionContext extends PreemptionInput {
  /** The latest: who could have gone, how far each was from freeing what is missing, who goes. */
  readonly decision: PreemptionDecision | undefined;
  /** UIDs of the pods whose end is still to come. */
  readonly awaited: readonly string[];
  /** UIDs of pods that could not be ended. They are not chosen again. */
  readonly unendable: readonly string[];
  /** Somebody has been waited for since the latest decision. */
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

/** What others may ask: whether room that is free, or becomes free, is meant for this pod. */
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

const ask = asksOf('preemption', 'src/actors/start/preemptions.ts');

export const preemptionMachine = setup({
  types: {
    context: {} as PreemptionContext,
    events: {} as PreemptionEvent,
    input: {} as PreemptionInput,
    tags: {} as PreemptionTag,
  },
  guards: {
    awaitsNobody: ({ event }) => event.type === 'VICTIMS_SELECTED' && event.awaited.length === 0,
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

    // What the machine asks for; the actor provides it.
    selectVictims: ask(),
    reportDecision: ask(),
    endVictims: ask(),
    reportFailedVictim: ask(),
    tryAdmission: ask(),
    rejectPreemptor: ask(),
  },
}).createMachine({
  id: 'preemption',
  description: 'Making room for one critical pod by ending others',
  context: initialContext,
  initial: 'Idle',
  on: {
    PREEMPTOR_GONE: {
      description: 'What has been set going goes on; nobody waits for it any more',
      actions: ['beginAnew'],
      target: '.Idle',
    },
  },
  states: {
    Idle: {
      description: 'The pod has not asked for room, or it is known what has become of it',
      on: {
        PREEMPT: { actions: ['beginAnew'], target: 'SelectingVictims' },
      },
    },
    SelectingVictims: {
      description:
        'Who has to go is being decided, from what holds resources now and what is promised to others',
      entry: ['selectVictims'],
      on: {
        VICTIMS_SELECTED: [
          {
            description: 'Room has appeared by itself',
            guard: 'awaitsNobody',
            actions: ['recordDecision'],
            target: 'Admitting',
          },
          { actions: ['recordDecision'], target: 'Evicting' },
        ],
        NO_VICTIMS: { actions: ['recordDecision', 'recordRejection', 'reportDecision'], target: 'Rejecting' },
      },
    },
    Evicting: {
      description: 'The victims have been asked to end; each is waited for, whatever becomes of the others',
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
      description: 'Nobody is waited for any more: admission is tried again, with what is really free',
      tags: ['roomPromised'],
      entry: ['tryAdmission'],
      on: {
        ADMITTED: { target: 'Idle' },
        STILL_SHORT: [
          {
            description:
              'Somebody could not be ended, or came before; what is missing now is looked at, as long as waiting helps',
            guard: 'hasWaited',
            target: 'SelectingVictims',
          },
          { actions: ['recordRejection'], target: 'Rejecting' },
        ],
        REFUSED: { actions: ['recordRejection'], target: 'Rejecting' },
      },
    },
    Rejecting: {
      description: 'No room can be made, or something else than room has come to stand against the pod',
      entry: ['rejectPreemptor'],
      on: {
        REJECTED: { target: 'Idle' },
      },
    },
  },
});
