/**
 * The plugin of one resource as a statechart, from its registration until nothing of it is left on the node. Its devices are kept beside the chart
 * (src/agent/runtime/devices). The chart says whether they can be handed out, and what it waits for.
 */
import { assign, type DoneActorEvent, type ErrorActorEvent, setup } from 'xstate';
import { asksOf, ownContext, requestsOf } from './ask.ts';
import type { TimedFailure } from '../../types/timed-failure.ts';

export interface DevicePluginInput {
  readonly resource: string;
  /** Unix ms. */
  readonly now: number;
}

export interface DevicePluginRegistration {
  /** Counts up: a plugin may come back at the same socket. */
  readonly id: number;
  /** The path of its socket. */
  readonly endpoint: string;
}

export interface DevicePluginContext {
  readonly resource: string;
  /** Undefined: a former agent knew the resource, and no plugin has registered yet. */
  readonly registration: DevicePluginRegistration | undefined;
  /** The registration of another plugin, which is asked for its options before it replaces the one that serves. */
  readonly successor: DevicePluginRegistration | undefined;
  /** Why the last successor could not replace it. */
  readonly refusal: string | undefined;
  /** Since when it is being connected, serves, or is gone. Unix ms. */
  readonly since: number;
  /** Since when no plugin serves the resource; undefined while one does. */
  readonly goneSince: number | undefined;
  /** Why it does not serve; undefined while it does. */
  readonly problem: string | undefined;
  readonly deviceCount: number;
  readonly healthyCount: number;
}

export type DevicePluginEvent =
  /** A plugin has registered: the first one, or another one in the place of the former. */
  | {
      readonly type: 'REGISTERED';
      readonly registration: DevicePluginRegistration;
      readonly now: number;
    }
  | {
      readonly type: 'LISTED';
      readonly deviceCount: number;
      readonly healthyCount: number;
      readonly now: number;
    }
  /** The socket of that registration has been removed from the folder of plugins. */
  | { readonly type: 'SOCKET_GONE'; readonly id: number; readonly now: number }
  | { readonly type: 'STOP' }
  | DoneActorEvent<number, 'connect' | 'listen'>
  | ErrorActorEvent<TimedFailure, 'connect' | 'listen'>;

/** As long as the kubelet waits for a connection. */
const CONNECT_LIMIT_MS = 10_000;
/** For so long after a plugin is gone, the node's capacity still has its resource. */
const GRACE_MS = 5 * 60_000;

function initialContext({ input: { resource, now } }: { input: DevicePluginInput }): DevicePluginContext {
  return {
    resource,
    registration: undefined,
    successor: undefined,
    refusal: undefined,
    since: now,
    goneSince: now,
    problem: 'it has not registered since the agent has started',
    deviceCount: 0,
    healthyCount: 0,
  };
}

const SILENCE = `it has not answered within ${CONNECT_LIMIT_MS / 1000} s`;
const SOCKET_GONE = 'its socket is gone';

const EFFECTS = ['device plugin', 'src/agent/actors/devices/device-plugin.ts'] as const;
const ask = asksOf(...EFFECTS);
const request = requestsOf(...EFFECTS);

export const devicePluginMachine = setup({
  types: {
    context: {} as DevicePluginContext,
    events: {} as DevicePluginEvent,
    input: {} as DevicePluginInput,
  },
  actors: {
    /** Resolve to the time of their end (Unix ms). */
    connect: request<number, DevicePluginContext>(),
    listen: request<number, DevicePluginContext>(),
  },
  delays: {
    connectLimit: CONNECT_LIMIT_MS,
    /** A plugin that registers and fails does not extend it. */
    grace: ({ context: { since, goneSince = since } }) => Math.max(0, GRACE_MS - (since - goneSince)),
  },
  guards: {
    isOfPlugin: ({ context, event }) => event.type === 'SOCKET_GONE' && event.id === context.registration?.id,
    isOfSuccessor: ({ context, event }) => event.type === 'SOCKET_GONE' && event.id === context.successor?.id,
  },
  actions: {
    recordRegistration: assign(({ context, event }) =>
      event.type === 'REGISTERED'
        ? { registration: event.registration, refusal: undefined, since: event.now }
        : context,
    ),
    recordSuccessor: assign(({ context, event }) =>
      event.type === 'REGISTERED' ? { successor: event.registration, refusal: undefined } : context,
    ),
    recordSuccession: assign(({ context: { successor } }) => ({
      registration: successor,
      successor: undefined,
    })),
    recordRefusal: assign(({ event }) => ({
      successor: undefined,
      refusal: 'error' in event ? event.error.problem : event.type === 'SOCKET_GONE' ? SOCKET_GONE : SILENCE,
    })),
    recordConnection: assign(({ context, event }) => ({
      since: 'output' in event ? event.output : context.since,
      problem: undefined,
    })),
    recordDevices: assign(({ context, event }) => {
      if (event.type !== 'LISTED') return context;
      const { deviceCount, healthyCount } = event;
      return { deviceCount, healthyCount, goneSince: undefined };
    }),
    recordFailure: assign(({ context, event }) => {
      if (!('error' in event)) return context;
      const { problem, now } = event.error;
      return { problem, since: now, goneSince: context.goneSince ?? now, healthyCount: 0 };
    }),
    recordEnd: assign(({ context, event }) => {
      const now = 'now' in event ? event.now : 'output' in event ? event.output : context.since;
      const problem = event.type === 'SOCKET_GONE' ? SOCKET_GONE : 'it has ended its list of devices';
      return { problem, since: now, goneSince: context.goneSince ?? now, healthyCount: 0 };
    }),
    recordSilence: assign(({ context }) => {
      const now = context.since + CONNECT_LIMIT_MS;
      return { problem: SILENCE, since: now, goneSince: context.goneSince ?? now, healthyCount: 0 };
    }),

    // Asked of the actor.
    takeOver: ask(),
    disconnect: ask(),
    reportRefusal: ask(),
    forget: ask(),
    reportServing: ask(),
    reportGone: ask(),
  },
}).createMachine({
  id: 'devicePlugin',
  description:
    'The device plugin of one resource: whether it serves, and how long the node waits for it when it is gone',
  context: initialContext,
  initial: 'Gone',
  on: {
    REGISTERED: {
      description: 'A plugin has registered: the first one, or another one where none serves',
      actions: ['recordRegistration'],
      target: '.Connecting',
      reenter: true,
    },
    STOP: { target: '.Stopped' },
  },
  states: {
    Connecting: {
      description: 'It has registered, and is asked what it can do',
      invoke: {
        id: 'connect',
        src: 'connect',
        input: ownContext,
        onDone: { actions: ['recordConnection', 'takeOver'], target: 'Connected' },
        onError: { actions: ['recordFailure'], target: 'Gone' },
      },
      after: { connectLimit: { actions: ['recordSilence'], target: 'Gone' } },
      on: { SOCKET_GONE: { guard: 'isOfPlugin', actions: ['recordEnd'], target: 'Gone' } },
    },
    Connected: {
      description: 'It is connected, and lists its devices',
      initial: 'Listing',
      invoke: {
        id: 'listen',
        src: 'listen',
        input: ownContext,
        onDone: { actions: ['recordEnd'], target: 'Gone' },
        onError: { actions: ['recordFailure'], target: 'Gone' },
      },
      on: { SOCKET_GONE: { guard: 'isOfPlugin', actions: ['recordEnd'], target: 'Gone' } },
      states: {
        Listing: {
          description: 'It has not listed its devices yet: none can be handed out',
          on: { LISTED: { actions: ['recordDevices', 'reportServing'], target: 'Serving' } },
        },
        Serving: {
          description: 'Its healthy devices can be handed out',
          on: {
            LISTED: { actions: ['recordDevices'] },
            REGISTERED: { actions: ['recordSuccessor'], target: 'Replacing' },
          },
        },
        Replacing: {
          description:
            'Another plugin has registered, and is asked what it can do. This one serves until the other has answered',
          invoke: {
            id: 'connect',
            src: 'connect',
            input: ownContext,
            onDone: {
              actions: ['recordSuccession', 'recordConnection', 'takeOver'],
              target: '#devicePlugin.Connected',
              reenter: true,
            },
            onError: { actions: ['recordRefusal', 'reportRefusal'], target: 'Serving' },
          },
          after: { connectLimit: { actions: ['recordRefusal', 'reportRefusal'], target: 'Serving' } },
          on: {
            LISTED: { actions: ['recordDevices'] },
            REGISTERED: { actions: ['recordSuccessor'], target: 'Replacing', reenter: true },
            SOCKET_GONE: [
              { guard: 'isOfSuccessor', actions: ['recordRefusal', 'reportRefusal'], target: 'Serving' },
              {
                guard: 'isOfPlugin',
                actions: ['recordEnd', 'reportGone', 'disconnect', 'recordSuccession'],
                target: '#devicePlugin.Connecting',
              },
            ],
            'xstate.done.actor.listen': {
              actions: ['recordEnd', 'reportGone', 'disconnect', 'recordSuccession'],
              target: '#devicePlugin.Connecting',
            },
            'xstate.error.actor.listen': {
              actions: ['recordFailure', 'reportGone', 'disconnect', 'recordSuccession'],
              target: '#devicePlugin.Connecting',
            },
          },
        },
      },
    },
    Gone: {
      description:
        "No plugin serves the resource: its devices are not handed out. The node's capacity still has them for a while",
      entry: ['disconnect', 'reportGone'],
      after: { grace: { target: 'Forgotten' } },
    },
    Forgotten: {
      description: 'No plugin has registered again in time: the node has no devices of the resource any more',
      type: 'final',
      entry: ['forget'],
    },
    Stopped: { type: 'final', entry: ['disconnect'] },
  },
});
