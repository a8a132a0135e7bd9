/**
 * The graceful shutdown of the node as a statechart: pods end group by group, the least important first. Pods end by `SyncPodKill`
 * alone (I9).
 *
 * The actor keeps to this: `endGroup` kills the pods of the first group in the context, and each of them is answered by one POD_ENDED
 * once it has ended and its volumes are released.
 */
import { assign, setup } from 'xstate';
import { asksOf } from './ask.ts';

/** Pods that end together. Never empty. */
export interface EndingGroup {
  readonly priority: number;
  readonly seconds: number;
  readonly uids: readonly string[];
}

export interface ShutdownContext {
  /** The groups that have not ended. The first one is ending now. */
  readonly groups: readonly EndingGroup[];
  /** UIDs of the pods of the first group that have not ended. */
  readonly awaited: readonly string[];
  /** Unix milliseconds; undefined while the node does not shut down. */
  readonly since: number | undefined;
}

export type ShutdownEvent =
  | { readonly type: 'SHUTDOWN'; readonly at: number; readonly groups: readonly EndingGroup[] }
  /** The machine goes on after all. */
  | { readonly type: 'SHUTDOWN_CANCELLED' }
  | { readonly type: 'POD_ENDED'; readonly uid: string }
  | { readonly type: 'STOP' };

/** What other parts may ask: whether the node shuts down, so that it is not ready and takes no pods. */
export type ShutdownTag = 'shuttingDown';

const ask = asksOf('shutdown', 'src/agent/actors/node/node-shutdown.ts');

const CANCELLED = { actions: ['forgetGroups', 'reportCancelled'], target: '#shutdown.Watching' } as const;

export const shutdownMachine = setup({
  types: {
    context: {} as ShutdownContext,
    events: {} as ShutdownEvent,
    tags: {} as ShutdownTag,
  },
  delays: { groupTime: ({ context }) => (context.groups[0]?.seconds ?? 0) * 1000 },
  guards: {
    noGroups: ({ context }) => context.groups.length === 0,
    isLastAwaited: ({ context, event }) =>
      event.type === 'POD_ENDED' && context.awaited.every((uid) => uid === event.uid),
  },
  actions: {
    recordGroups: assign(({ event }) =>
      event.type === 'SHUTDOWN' ? { groups: event.groups, since: event.at } : {},
    ),
    awaitGroup: assign({ awaited: ({ context }) => context.groups[0]?.uids ?? [] }),
    recordEnd: assign({
      awaited: ({ context, event }) =>
        event.type === 'POD_ENDED' ? context.awaited.filter((uid) => uid !== event.uid) : context.awaited,
    }),
    dropGroup: assign({ groups: ({ context }) => context.groups.slice(1), awaited: [] }),
    forgetGroups: assign({ groups: [], awaited: [], since: undefined }),

    // Asked of the actor.
    reportShutdown: ask(),
    endGroup: ask(),
    reportTimeOver: ask(),
    reportCancelled: ask(),
    reportEnded: ask(),
  },
}).createMachine({
  id: 'shutdown',
  description: 'The graceful shutdown of the node',
  context: { groups: [], awaited: [], since: undefined },
  initial: 'Watching',
  states: {
    Watching: {
      description: 'Waits for the signal that the machine shuts down',
      on: { SHUTDOWN: { actions: ['recordGroups'], target: 'ShuttingDown' } },
    },
    ShuttingDown: {
      description: 'The node is not ready, and takes no pods',
      tags: ['shuttingDown'],
      entry: ['reportShutdown'],
      initial: 'NextGroup',
      on: { SHUTDOWN_CANCELLED: CANCELLED, STOP: { target: '.Stopped' } },
      states: {
        NextGroup: {
          always: [{ guard: 'noGroups', target: 'Ended' }, { target: 'EndingGroup' }],
        },
        EndingGroup: {
          description: 'The pods of one group end together, within its grace period',
          entry: ['awaitGroup', 'endGroup'],
          after: { groupTime: { actions: ['reportTimeOver', 'dropGroup'], target: 'NextGroup' } },
          on: {
            POD_ENDED: [
              { guard: 'isLastAwaited', actions: ['dropGroup'], target: 'NextGroup' },
              { actions: ['recordEnd'] },
            ],
          },
        },
        Ended: {
          description: 'The machine may go down',
          entry: ['reportEnded'],
        },
        Stopped: {
          description: 'The agent stops. It does not wait for pods any more, and the node still takes none',
        },
      },
    },
  },
});
