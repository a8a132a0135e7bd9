/**
 * A ResourceClaim that pods of this node use, as a statechart: its drivers prepare it once for all of them, and unprepare it when its last pod has
 * ended.
 */
import { assign, type DoneActorEvent, type ErrorActorEvent, setup } from 'xstate';
import type { ClaimState } from '../policies/dra/claim-devices.ts';
import { asksOf, ownContext, requestsOf } from './ask.ts';
import type { TimedFailure } from '../../types/timed-failure.ts';

export interface ResourceClaimInput {
  /** As an earlier agent has left it, or new: without pods. */
  readonly claim: ClaimState;
  /** Unix ms. */
  readonly now: number;
}

export interface ResourceClaimContext extends ClaimState {
  /** The pod that has asked last: claims that one pod wants together, a driver prepares in one call. */
  readonly asker: string;
  /** The last pod, which has ended. It counts among the pods until the claim is unprepared. */
  readonly leaving: string | undefined;
  /** Why the last step has failed; undefined once a step has succeeded. */
  readonly problem: string | undefined;
  /** Since when it is in its state. Unix ms. */
  readonly since: number;
}

interface Prepared {
  readonly drivers: ClaimState['drivers'];
  readonly now: number;
}

export type ResourceClaimEvent =
  /** A pod wants it; also again, after a failure. */
  | { readonly type: 'WANTED'; readonly pod: string; readonly now: number }
  /** No pod waits for it any more: those that did are ending. */
  | { readonly type: 'GIVEN_UP'; readonly now: number }
  /** Nothing of the pod runs any more. Also again, after a failure. */
  | { readonly type: 'LEFT'; readonly pod: string; readonly now: number }
  | { readonly type: 'STOP' }
  | DoneActorEvent<Prepared, 'prepare'>
  /** When (Unix ms). */
  | DoneActorEvent<number, 'unprepare'>
  | ErrorActorEvent<TimedFailure, 'prepare' | 'unprepare'>;

const EFFECTS = ['resource claim', 'src/agent/actors/dra/resource-claim-actor.ts'] as const;
const ask = asksOf(...EFFECTS);
const request = requestsOf(...EFFECTS);

function initialContext({ input: { claim, now } }: { input: ResourceClaimInput }): ResourceClaimContext {
  return { ...claim, asker: '', leaving: undefined, problem: undefined, since: now };
}

export const resourceClaimMachine = setup({
  types: {
    context: {} as ResourceClaimContext,
    events: {} as ResourceClaimEvent,
    input: {} as ResourceClaimInput,
  },
  actors: {
    prepare: request<Prepared, ResourceClaimContext>(),
    unprepare: request<number, ResourceClaimContext>(),
  },
  guards: {
    isLast: ({ context, event }) => event.type === 'LEFT' && context.pods.every((pod) => pod === event.pod),
    isOther: ({ context, event }) => event.type === 'LEFT' && event.pod !== context.leaving,
    isLeft: ({ context: { pods, leaving } }) => pods.every((pod) => pod === leaving),
  },
  actions: {
    recordWish: assign(({ context, event }) => {
      if (event.type !== 'WANTED') return context;
      const { pod, now } = event;
      return { asker: pod, pods: [...context.pods.filter((one) => one !== pod), pod], since: now };
    }),
    /** Another pod uses the claim, which is prepared already. */
    recordPod: assign(({ context: { pods }, event }) => {
      if (event.type !== 'WANTED' || pods.includes(event.pod)) return { pods };
      return { pods: [...pods, event.pod] };
    }),
    recordLeaving: assign(({ context: { pods }, event }) => {
      if (event.type !== 'LEFT') return { pods };
      return { pods: pods.filter((pod) => pod !== event.pod) };
    }),
    recordLast: assign(({ context, event }) => {
      if (event.type !== 'LEFT') return context;
      return { asker: event.pod, leaving: event.pod, since: event.now };
    }),
    recordPrepared: assign(({ context, event }) => {
      if (!('output' in event) || typeof event.output === 'number') return context;
      const { drivers, now } = event.output;
      return { drivers, since: now, problem: undefined };
    }),
    recordUnprepared: assign(({ context, event }) => ({
      pods: context.pods.filter((pod) => pod !== context.leaving),
      asker: context.pods.at(-1) ?? '',
      leaving: undefined,
      problem: undefined,
      since: 'output' in event && typeof event.output === 'number' ? event.output : context.since,
    })),
    recordFailure: assign(({ context, event }) => {
      if (!('error' in event)) return context;
      return { problem: event.error.problem, since: event.error.now };
    }),
    recordGivenUp: assign(({ context, event }) => ({
      problem: 'no pod waits for it any more',
      since: 'now' in event ? event.now : context.since,
    })),

    // Asked of the actor.
    forget: ask(),
  },
}).createMachine({
  id: 'resourceClaim',
  description:
    'A ResourceClaim on this node, from the first pod that wants it until its drivers have unprepared it',
  context: initialContext,
  initial: 'Known',
  on: {
    LEFT: [
      { guard: 'isLast', actions: ['recordLast'], target: '.Unpreparing' },
      { actions: ['recordLeaving'] },
    ],
    STOP: { target: '.Stopped' },
  },
  states: {
    Known: {
      description: 'An earlier agent may have prepared it, or a pod is about to want it',
      on: {
        WANTED: { actions: ['recordWish'], target: 'Preparing' },
      },
    },
    Preparing: {
      description: 'Its drivers prepare its devices',
      invoke: {
        id: 'prepare',
        src: 'prepare',
        input: ownContext,
        onDone: { actions: ['recordPrepared'], target: 'Prepared' },
        onError: { actions: ['recordFailure'], target: 'Failed' },
      },
      on: {
        WANTED: { actions: ['recordPod'] },
        GIVEN_UP: { actions: ['recordGivenUp'], target: 'Failed' },
      },
    },
    Prepared: {
      description: 'It is ready for pods',
      on: {
        WANTED: { actions: ['recordPod'] },
      },
    },
    Failed: {
      description: 'It could not be prepared. The next try of a pod that wants it begins again',
      on: {
        WANTED: { actions: ['recordWish'], target: 'Preparing' },
      },
    },
    Unpreparing: {
      description:
        'No pod uses it any more: its drivers unprepare it, even if it is not certain that it is prepared',
      invoke: {
        id: 'unprepare',
        src: 'unprepare',
        input: ownContext,
        onDone: [
          { guard: 'isLeft', actions: ['recordUnprepared'], target: 'Gone' },
          { actions: ['recordUnprepared'], target: 'Preparing' },
        ],
        onError: { actions: ['recordFailure'], target: 'UnprepareFailed' },
      },
      on: {
        WANTED: { actions: ['recordPod'] },
        LEFT: [{ guard: 'isOther', actions: ['recordLeaving'] }, {}],
      },
    },
    UnprepareFailed: {
      description: 'A driver could not unprepare it. The next try of the pod that has ended begins again',
      on: {
        WANTED: { actions: ['recordWish'], target: 'Preparing' },
      },
    },
    Gone: {
      description: 'It is not on this node any more',
      type: 'final',
      entry: ['forget'],
    },
    Stopped: { type: 'final' },
  },
});
