/**
 * The lease of the node as a statechart: it tells the cluster that the node is alive. It depends on nothing but the API server, so that no pod and no
 * status delays it. What is written is decided by src/agent/policies/node/lease-renewal.ts.
 */
import { assign, type DoneActorEvent, type ErrorActorEvent, setup } from 'xstate';
import { leaseBackOffMs, RENEWAL_TRIES } from '../policies/node/lease-renewal.ts';
import type { Lease } from '../../types/kubernetes.ts';
import { asksOf, ownContext, requestsOf } from './ask.ts';

export interface LeaseInput {
  /** Unix ms. */
  readonly now: number;
}

export interface LeaseContext {
  /** Of the Node object, which owns the lease. */
  readonly nodeUid: string | undefined;
  /** As the server answered last. */
  readonly lease: Lease | undefined;
  /** Times in a row that the lease could be neither read nor created. */
  readonly readFailures: number;
  readonly failedTries: number;
  /** The lease has been read for this renewal. */
  readonly isFresh: boolean;
  /** Unix ms. */
  readonly renewedAt: number | undefined;
  /** Why the last request failed; undefined after a success. */
  readonly problem: string | undefined;
  /** Since when the lease is renewed, or cannot be renewed, or its node is not known. Unix ms. */
  readonly since: number;
}

export interface LeaseAnswer {
  /** As the server has it now. */
  readonly lease: Lease;
  /** Unix ms; undefined: it was only read. */
  readonly renewedAt?: number;
}

export interface LeaseFailure {
  readonly problem: string;
  /** Another client has written or deleted the lease: it must be read again. */
  readonly isOutdated: boolean;
  readonly now: number;
}

type Request = 'ensureLease' | 'renewLease';

export type LeaseEvent =
  /** The Node object is of this machine. Also sent when the object has another UID. */
  | { readonly type: 'NODE_KNOWN'; readonly uid: string; readonly now: number }
  /** The Node object is gone, or of another machine. */
  | { readonly type: 'NODE_LOST'; readonly now: number }
  | { readonly type: 'STOP' }
  | DoneActorEvent<LeaseAnswer, Request>
  | ErrorActorEvent<LeaseFailure, Request>;

function contextOf(nodeUid: string | undefined, since: number): LeaseContext {
  return {
    nodeUid,
    lease: undefined,
    readFailures: 0,
    failedTries: 0,
    isFresh: false,
    renewedAt: undefined,
    problem: undefined,
    since,
  };
}

function initialContext({ input }: { input: LeaseInput }): LeaseContext {
  return contextOf(undefined, input.now);
}

const EFFECTS = ['lease', 'src/agent/actors/cluster/node-lease.ts'] as const;
const ask = asksOf(...EFFECTS);
const request = requestsOf(...EFFECTS);

export const leaseMachine = setup({
  types: {
    context: {} as LeaseContext,
    events: {} as LeaseEvent,
    input: {} as LeaseInput,
  },
  actors: {
    ensureLease: request<LeaseAnswer, LeaseContext>(),
    renewLease: request<LeaseAnswer, LeaseContext>(),
  },
  delays: {
    backOff: ({ context }) => leaseBackOffMs(context.readFailures),
    /** The actor adds a little to it, at random. */
    renewal: 10_000,
  },
  guards: {
    isKnownNode: ({ context, event }) => event.type === 'NODE_KNOWN' && event.uid === context.nodeUid,
    wasCreated: ({ event }) => 'output' in event && event.output.renewedAt !== undefined,
    mayReadAgain: ({ context, event }) => isOutdated(event) && hasTries(context),
    mayTryAgain: ({ context, event }) => !isOutdated(event) && hasTries(context),
    mayBeOutdated: ({ context, event }) => !isOutdated(event) && !context.isFresh,
  },
  actions: {
    recordNode: assign(({ context, event }) => {
      if (event.type === 'NODE_KNOWN') return contextOf(event.uid, event.now);
      return event.type === 'NODE_LOST' ? contextOf(undefined, event.now) : context;
    }),
    recordRead: assign(({ context, event }) => ({
      lease: 'output' in event ? event.output.lease : context.lease,
      readFailures: 0,
      isFresh: true,
    })),
    recordRenewal: assign(({ context, event }) => {
      if (!('output' in event)) return {};
      const { lease, renewedAt = context.since } = event.output;
      const goesOn = context.renewedAt !== undefined && context.problem === undefined;
      const since = goesOn ? context.since : renewedAt;
      return { lease, renewedAt, problem: undefined, since, readFailures: 0 };
    }),
    recordFailure: assign(({ context, event }) => {
      if (!('error' in event)) return {};
      const { problem, now } = event.error;
      return { problem, since: context.problem === undefined ? now : context.since };
    }),
    countReadFailure: assign({ readFailures: ({ context }) => context.readFailures + 1 }),
    countTry: assign({ failedTries: ({ context }) => context.failedTries + 1 }),
    endRound: assign({ failedTries: 0, isFresh: false }),

    // Asked of the actor.
    reportFailure: ask(),
    reportRenewal: ask(),
  },
}).createMachine({
  id: 'lease',
  description: 'The lease of the node, which tells the cluster that the node is alive',
  context: initialContext,
  initial: 'AwaitingNode',
  on: {
    NODE_LOST: { actions: ['recordNode'], target: '.AwaitingNode' },
    NODE_KNOWN: [
      { guard: 'isKnownNode' },
      {
        description: 'Also if the Node object was made anew: the lease was deleted with the former object',
        actions: ['recordNode'],
        target: '.Ensuring',
      },
    ],
    STOP: { target: '.Stopped' },
  },
  states: {
    AwaitingNode: {
      description:
        'Waits for the Node object, which owns the lease. It is not known yet, or belongs to another machine',
    },
    Ensuring: {
      description: 'The lease is read, and created if there is none',
      invoke: {
        id: 'ensureLease',
        src: 'ensureLease',
        input: ownContext,
        onDone: [
          {
            guard: 'wasCreated',
            actions: ['reportRenewal', 'recordRenewal', 'endRound'],
            target: 'Waiting',
          },
          { actions: ['recordRead'], target: 'Renewing' },
        ],
        onError: { actions: ['reportFailure', 'recordFailure', 'countReadFailure'], target: 'BackingOff' },
      },
    },
    BackingOff: {
      description: 'The lease could be neither read nor created. That is tried again after a while',
      after: { backOff: { target: 'Ensuring' } },
    },
    Renewing: {
      description: 'The lease is being renewed; a write that fails is repeated at once, several times',
      invoke: {
        id: 'renewLease',
        src: 'renewLease',
        input: ownContext,
        onDone: { actions: ['reportRenewal', 'recordRenewal', 'endRound'], target: 'Waiting' },
        onError: [
          { guard: 'mayReadAgain', actions: ['recordFailure', 'countTry'], target: 'Ensuring' },
          {
            guard: 'mayTryAgain',
            actions: ['reportFailure', 'recordFailure', 'countTry'],
            target: 'Renewing',
            reenter: true,
          },
          {
            guard: 'mayBeOutdated',
            actions: ['reportFailure', 'recordFailure', 'endRound'],
            target: 'Ensuring',
          },
          {
            description: 'The lease was read again for this renewal, and still could not be written',
            actions: ['reportFailure', 'recordFailure', 'endRound'],
            target: 'Waiting',
          },
        ],
      },
    },
    Waiting: {
      description: 'Waits for the time of the next renewal, whether or not the last one succeeded',
      after: { renewal: { target: 'Renewing' } },
    },
    Stopped: { type: 'final' },
  },
});

function isOutdated(event: LeaseEvent): boolean {
  return 'error' in event && event.error.isOutdated;
}

function hasTries({ failedTries }: LeaseContext): boolean {
  return failedTries + 1 < RENEWAL_TRIES;
}
