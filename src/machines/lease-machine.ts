/**
 * The lease of the node as a statechart: it tells the cluster that the node is alive. It depends on nothing but the API server, so that
 * no pod and no status holds it up. What is written is decided by src/policies/node-status/lease-renewal.ts.
 *
 * The actor keeps to this: LEASE_DUE is sent when the armed timer has run out; `ensureLease` is answered by one of LEASE_FOUND,
 * LEASE_CREATED and ENSURE_FAILED, `renewLease` by one of RENEWED, LEASE_OUTDATED and RENEWAL_FAILED. After `abortRequest` there is no
 * answer.
 */
import { assign, setup } from 'xstate';
import { RENEWAL_TRIES } from '../policies/node-status/lease-renewal.ts';
import type { Lease } from '../types/kubernetes.ts';
import { asksOf } from './ask.ts';

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
  /** Tries of this renewal that have failed. */
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

interface Failure {
  readonly problem: string;
  readonly now: number;
}

export type LeaseEvent =
  /** The Node object is of this machine. Also sent when the object has another UID. */
  | { readonly type: 'NODE_KNOWN'; readonly uid: string; readonly now: number }
  /** The Node object is gone, or of another machine. */
  | { readonly type: 'NODE_LOST'; readonly now: number }
  | { readonly type: 'LEASE_DUE' }
  | { readonly type: 'LEASE_FOUND'; readonly lease: Lease }
  | { readonly type: 'LEASE_CREATED'; readonly lease: Lease; readonly now: number }
  | ({ readonly type: 'ENSURE_FAILED' } & Failure)
  | { readonly type: 'RENEWED'; readonly lease: Lease; readonly now: number }
  /** Another client has written or deleted the lease: it must be read again. */
  | ({ readonly type: 'LEASE_OUTDATED' } & Failure)
  | ({ readonly type: 'RENEWAL_FAILED' } & Failure);

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

const ask = asksOf('lease', 'src/actors/cluster/node-lease.ts');

export const leaseMachine = setup({
  types: {
    context: {} as LeaseContext,
    events: {} as LeaseEvent,
    input: {} as LeaseInput,
  },
  guards: {
    isKnownNode: ({ context, event }) => event.type === 'NODE_KNOWN' && event.uid === context.nodeUid,
    mayTryAgain: ({ context }) => context.failedTries + 1 < RENEWAL_TRIES,
    isFresh: ({ context }) => context.isFresh,
  },
  actions: {
    recordNode: assign(({ context, event }) => {
      if (event.type === 'NODE_KNOWN') return contextOf(event.uid, event.now);
      return event.type === 'NODE_LOST' ? contextOf(undefined, event.now) : context;
    }),
    recordLease: assign({
      lease: ({ context, event }) => ('lease' in event ? event.lease : context.lease),
      readFailures: 0,
    }),
    recordRead: assign({ isFresh: true }),
    recordRenewal: assign(({ context, event }) => {
      if (!('now' in event)) return {};
      const goesOn = context.renewedAt !== undefined && context.problem === undefined;
      return { renewedAt: event.now, problem: undefined, since: goesOn ? context.since : event.now };
    }),
    recordFailure: assign(({ context, event }) => {
      if (!('problem' in event)) return {};
      return { problem: event.problem, since: context.problem === undefined ? event.now : context.since };
    }),
    countReadFailure: assign({ readFailures: ({ context }) => context.readFailures + 1 }),
    countTry: assign({ failedTries: ({ context }) => context.failedTries + 1 }),
    endRound: assign({ failedTries: 0, isFresh: false }),

    // Asked of the actor.
    ensureLease: ask(),
    renewLease: ask(),
    abortRequest: ask(),
    armBackOff: ask(),
    armRenewal: ask(),
    disarmTimer: ask(),
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
        description: 'Also if the Node object was made anew: its lease is deleted with the former object',
        actions: ['recordNode'],
        target: '.Ensuring',
      },
    ],
  },
  states: {
    AwaitingNode: {
      description: 'The Node object, which owns the lease, is not known yet, or is of another machine',
    },
    Ensuring: {
      description: 'The lease is read, and created if there is none',
      entry: ['ensureLease'],
      exit: ['abortRequest'],
      on: {
        LEASE_FOUND: { actions: ['recordLease', 'recordRead'], target: 'Renewing' },
        LEASE_CREATED: {
          actions: ['reportRenewal', 'recordLease', 'recordRenewal', 'endRound'],
          target: 'Waiting',
        },
        ENSURE_FAILED: {
          actions: ['reportFailure', 'recordFailure', 'countReadFailure'],
          target: 'BackingOff',
        },
      },
    },
    BackingOff: {
      description: 'The lease could be neither read nor created: waits before the next try',
      entry: ['armBackOff'],
      exit: ['disarmTimer'],
      on: {
        LEASE_DUE: { target: 'Ensuring' },
      },
    },
    Renewing: {
      description: 'The lease is written with a new time, several times at once if that fails',
      entry: ['renewLease'],
      exit: ['abortRequest'],
      on: {
        RENEWED: {
          actions: ['reportRenewal', 'recordLease', 'recordRenewal', 'endRound'],
          target: 'Waiting',
        },
        LEASE_OUTDATED: [
          { guard: 'mayTryAgain', actions: ['recordFailure', 'countTry'], target: 'Ensuring' },
          { actions: ['reportFailure', 'recordFailure', 'endRound'], target: 'Waiting' },
        ],
        RENEWAL_FAILED: [
          {
            guard: 'mayTryAgain',
            actions: ['reportFailure', 'recordFailure', 'countTry'],
            target: 'Renewing',
            reenter: true,
          },
          {
            description: 'It has been read for this renewal, and could not be written either',
            guard: 'isFresh',
            actions: ['reportFailure', 'recordFailure', 'endRound'],
            target: 'Waiting',
          },
          { actions: ['reportFailure', 'recordFailure', 'endRound'], target: 'Ensuring' },
        ],
      },
    },
    Waiting: {
      description: 'The lease was renewed, or could not be renewed: waits for the time of the next renewal',
      entry: ['armRenewal'],
      exit: ['disarmTimer'],
      on: {
        LEASE_DUE: { target: 'Renewing' },
      },
    },
  },
});
