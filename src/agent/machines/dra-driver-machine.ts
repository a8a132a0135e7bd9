/** A DRA driver of this node as a statechart: whether it is connected, and what happens to its ResourceSlices of this node. */
import { assign, type DoneActorEvent, type ErrorActorEvent, setup } from 'xstate';
import { asksOf, ownContext, requestsOf } from './ask.ts';
import type { TimedFailure } from '../../types/timed-failure.ts';

export interface DraDriverInput {
  readonly driver: string;
  /** Unix ms. */
  readonly now: number;
}

export interface DraDriverContext {
  readonly driver: string;
  /** The path of its socket; undefined while none is registered. */
  readonly endpoint: string | undefined;
  /** Since when it is connected, or is not. Unix ms. */
  readonly since: number;
  /** Why it is not connected; undefined while it is. */
  readonly problem: string | undefined;
  /** Connections that have failed, one after another. */
  readonly failures: number;
  /** Its ResourceSlices are deleted. */
  readonly isRemoved: boolean;
}

export type DraDriverEvent =
  /** A plugin of the driver has registered: the first one, or another one in the place of the former. */
  | { readonly type: 'REGISTERED'; readonly endpoint: string; readonly now: number }
  /** Its socket has been removed from the folder of plugins. */
  | { readonly type: 'SOCKET_GONE'; readonly now: number }
  | { readonly type: 'STOP' }
  /** When (Unix ms). */
  | DoneActorEvent<number, 'connect' | 'removeSlices'>
  | ErrorActorEvent<TimedFailure, 'connect' | 'stay'>;

/** As long as the kubelet waits. */
const GRACE_MS = 30_000;
/** As gRPC dials a server that does not answer. */
const RECONNECT_FIRST_MS = 1_000;
const RECONNECT_MOST_MS = 120_000;

const EFFECTS = ['DRA driver', 'src/agent/actors/dra/dra-driver-actor.ts'] as const;
const ask = asksOf(...EFFECTS);
const request = requestsOf(...EFFECTS);

function initialContext({ input: { driver, now } }: { input: DraDriverInput }): DraDriverContext {
  return {
    driver,
    endpoint: undefined,
    since: now,
    problem: 'it has not registered',
    failures: 0,
    isRemoved: false,
  };
}

export const draDriverMachine = setup({
  types: {
    context: {} as DraDriverContext,
    events: {} as DraDriverEvent,
    input: {} as DraDriverInput,
  },
  actors: {
    connect: request<number, DraDriverContext>(),
    /** Rejects when the connection ends. */
    stay: request<never, DraDriverContext>(),
    /** Tries until it is done. */
    removeSlices: request<number, DraDriverContext>(),
  },
  delays: {
    grace: GRACE_MS,
    reconnect: ({ context: { failures } }) =>
      Math.min(RECONNECT_MOST_MS, RECONNECT_FIRST_MS * 2 ** Math.max(0, failures - 1)),
  },
  guards: {
    isOver: ({ context: { endpoint, isRemoved } }) => endpoint === undefined && isRemoved,
  },
  actions: {
    recordRegistration: assign(({ context, event }) =>
      event.type === 'REGISTERED' ? { endpoint: event.endpoint, failures: 0 } : context,
    ),
    recordConnection: assign(({ context, event }) => ({
      since: 'output' in event ? event.output : context.since,
      problem: undefined,
      failures: 0,
      isRemoved: false,
    })),
    recordSocketGone: assign(({ context, event }) => ({
      endpoint: undefined,
      problem: 'its socket is gone',
      since: context.problem === undefined && 'now' in event ? event.now : context.since,
    })),
    recordFailure: assign(({ context, event }) => {
      if (!('error' in event)) return context;
      const since = context.problem === undefined ? event.error.now : context.since;
      return { problem: event.error.problem, failures: context.failures + 1, since };
    }),
    recordRemoval: assign({ isRemoved: true }),

    // Asked of the actor.
    disconnect: ask(),
    forget: ask(),
    reportConnected: ask(),
    reportAway: ask(),
  },
}).createMachine({
  id: 'draDriver',
  description:
    'A DRA driver on this node: whether it is connected, and for how long the cluster counts on its devices',
  context: initialContext,
  initial: 'Away',
  on: { STOP: { target: '.Stopped' } },
  states: {
    Connected: {
      description: 'It is connected',
      entry: ['reportConnected'],
      invoke: {
        id: 'stay',
        src: 'stay',
        input: ownContext,
        onError: { actions: ['recordFailure', 'reportAway'], target: 'Away.Link.Pausing' },
      },
      on: {
        REGISTERED: { actions: ['recordRegistration'], target: 'Away.Link.Connecting' },
        SOCKET_GONE: { actions: ['recordSocketGone', 'reportAway'], target: 'Away.Link.Unregistered' },
      },
    },
    Away: {
      description:
        'It is not connected. Its ResourceSlices stay for a while, so that a driver that restarts finds them unchanged',
      type: 'parallel',
      always: { guard: 'isOver', target: 'Forgotten' },
      states: {
        Link: {
          initial: 'Unregistered',
          states: {
            Unregistered: {
              description: 'It has no socket in the folder of plugins',
              entry: ['disconnect'],
            },
            Connecting: {
              description: 'It has registered, and is being connected',
              invoke: {
                id: 'connect',
                src: 'connect',
                input: ownContext,
                onDone: { actions: ['recordConnection'], target: '#draDriver.Connected' },
                onError: { actions: ['recordFailure'], target: 'Pausing' },
              },
            },
            Pausing: {
              description: 'It does not listen at its socket. The connection is tried again after a pause',
              after: { reconnect: { target: 'Connecting' } },
            },
          },
          on: {
            REGISTERED: { actions: ['recordRegistration'], target: '.Connecting' },
            SOCKET_GONE: { actions: ['recordSocketGone'], target: '.Unregistered' },
          },
        },
        Slices: {
          initial: 'Kept',
          states: {
            Kept: {
              description: 'Its ResourceSlices are kept for a while: the cluster still counts on its devices',
              after: { grace: { target: 'Removing' } },
            },
            Removing: {
              description:
                'Its ResourceSlices of this node are being deleted, so that no more pods are scheduled for its devices',
              invoke: {
                id: 'removeSlices',
                src: 'removeSlices',
                input: ownContext,
                onDone: { actions: ['recordRemoval'], target: 'Removed' },
              },
            },
            Removed: { description: 'Its ResourceSlices of this node are deleted' },
          },
        },
      },
    },
    Forgotten: {
      description: 'It is gone, and so are its ResourceSlices',
      type: 'final',
      entry: ['forget'],
    },
    Stopped: { type: 'final', entry: ['disconnect'] },
  },
});
