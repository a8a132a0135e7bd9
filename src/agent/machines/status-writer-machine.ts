/**
 * The writer of pod statuses as a statechart: one for the node. It writes while there are statuses to be written. Where the API server
 * does not answer, it waits, and then tries with one status, so that a server that comes back gets no burst. What is written is
 * decided by src/agent/policies/cluster.
 *
 * The actor keeps to this: each `write` is answered by one of ANSWERED, NOT_ANSWERED and DROPPED.
 */
import { assign, enqueueActions, setup } from 'xstate';
import { writeBackOffMs } from '../policies/cluster/status-write.ts';
import { asksOf } from './ask.ts';

export interface StatusWriterContext {
  /** UIDs of pods whose status is to be written, in order. */
  readonly due: readonly string[];
  /** UIDs of pods whose status is being written: one status of each pod. */
  readonly underWay: readonly string[];
  /** Of these, the pods that have come again meanwhile: the status that is being written belongs to their former life. */
  readonly outlived: readonly string[];
  /** Writes in a row that the server did not answer. */
  readonly failures: number;
  /** Why the last write was not answered; undefined after an answer. */
  readonly problem: string | undefined;
  /** How long the server asked the client to wait. */
  readonly askedMs: number | undefined;
}

interface OfPod {
  readonly uid: string;
}

export type StatusWriterEvent =
  | { readonly type: 'DUE'; readonly uids: readonly string[] }
  /** The server answered, perhaps with a refusal. */
  | ({ readonly type: 'ANSWERED' } & OfPod)
  /** The server did not answer, or wants fewer requests, or cannot answer any (429, 5xx). */
  | ({ readonly type: 'NOT_ANSWERED'; readonly problem: string; readonly askedMs?: number } & OfPod)
  /** There was nothing to tell of the pod any more. */
  | ({ readonly type: 'DROPPED' } & OfPod)
  /** It was forgotten and has come again with its UID. */
  | ({ readonly type: 'CAME_AGAIN' } & OfPod)
  /** Something else has had an answer of the server. */
  | { readonly type: 'CONNECTED' }
  | { readonly type: 'STOP' };

const ANSWERING = { failures: 0, problem: undefined, askedMs: undefined };
const INITIAL: StatusWriterContext = { due: [], underWay: [], outlived: [], ...ANSWERING };

/** Statuses that are written at the same time. */
const AT_ONCE_MAX = 4;

const ask = asksOf('status writer', 'src/agent/actors/cluster/status-writer.ts');

export const statusWriterMachine = setup({
  types: {
    context: {} as StatusWriterContext,
    events: {} as StatusWriterEvent,
  },
  delays: { retry: ({ context }) => writeBackOffMs(context.failures, context.askedMs) },
  guards: {
    isAllWritten: ({ context }) => context.due.length + context.underWay.length === 0,
  },
  actions: {
    recordDue: assign(({ context: { due }, event }) =>
      event.type === 'DUE' ? { due: [...new Set([...due, ...event.uids])] } : {},
    ),
    /** A status whose write was not answered is due again. */
    recordEnd: assign(({ context: { due, underWay, outlived }, event }) => {
      if (!('uid' in event)) return {};
      const others = (uids: readonly string[]) => uids.filter((uid) => uid !== event.uid);
      return {
        due: event.type === 'NOT_ANSWERED' ? [...others(due), event.uid] : due,
        underWay: others(underWay),
        outlived: others(outlived),
      };
    }),
    recordOutlived: assign(({ context: { outlived }, event }) =>
      'uid' in event ? { outlived: [...outlived, event.uid] } : {},
    ),
    recordAnswer: assign(ANSWERING),
    recordFailure: assign(({ context, event }) =>
      event.type === 'NOT_ANSWERED'
        ? { failures: context.failures + 1, problem: event.problem, askedMs: event.askedMs }
        : {},
    ),

    writeSome: enqueueActions(({ context, enqueue }) => {
      const next = startable(context, AT_ONCE_MAX);
      enqueue.assign(begun(context, next));
      for (const uid of next) enqueue({ type: 'write', params: { uid } });
    }),
    writeOne: enqueueActions(({ context, enqueue }) => {
      const next = startable(context, 1);
      enqueue.assign(begun(context, next));
      for (const uid of next) enqueue({ type: 'write', params: { uid } });
    }),

    // Asked of the actor.
    write: ask<OfPod>(),
    reportFailure: ask(),
    reportAnswer: ask(),
  },
}).createMachine({
  id: 'statusWriter',
  description: 'Writes the statuses of pods to the API server',
  context: INITIAL,
  initial: 'Idle',
  on: {
    DUE: { actions: ['recordDue'] },
    CAME_AGAIN: { actions: ['recordOutlived'] },
    STOP: { target: '.Stopped' },
  },
  states: {
    Idle: {
      description: 'The API server has every status',
      on: { DUE: { actions: ['recordDue'], target: 'Writing' } },
    },
    Writing: {
      description: 'Statuses are being written, a few at a time',
      entry: ['writeSome'],
      always: { guard: 'isAllWritten', target: 'Idle' },
      on: {
        DUE: { actions: ['recordDue', 'writeSome'] },
        DROPPED: { actions: ['recordEnd', 'writeSome'] },
        ANSWERED: { actions: ['recordEnd', 'writeSome'] },
        NOT_ANSWERED: { actions: ['reportFailure', 'recordFailure', 'recordEnd'], target: 'Waiting' },
      },
    },
    Waiting: {
      description: 'The API server does not answer: no write begins for a while',
      after: { retry: { target: 'Trying' } },
      on: {
        NOT_ANSWERED: {
          description: 'Another write was under way, and was not answered either',
          actions: ['recordEnd'],
        },
        ANSWERED: { actions: ['reportAnswer', 'recordAnswer', 'recordEnd'], target: 'Writing' },
        CONNECTED: { target: 'Trying' },
      },
    },
    Trying: {
      description: 'One status is written, to see whether the API server answers again',
      entry: ['writeOne'],
      always: { guard: 'isAllWritten', actions: ['recordAnswer'], target: 'Idle' },
      on: {
        DROPPED: { actions: ['recordEnd', 'writeOne'] },
        ANSWERED: { actions: ['reportAnswer', 'recordAnswer', 'recordEnd'], target: 'Writing' },
        NOT_ANSWERED: { actions: ['reportFailure', 'recordFailure', 'recordEnd'], target: 'Waiting' },
      },
    },
    Stopped: { type: 'final' },
  },
});

/** A pod whose status is being written waits until that has ended. */
function startable({ due, underWay }: StatusWriterContext, atOnce: number): readonly string[] {
  return due.filter((uid) => !underWay.includes(uid)).slice(0, Math.max(0, atOnce - underWay.length));
}

function begun({ due, underWay }: StatusWriterContext, next: readonly string[]) {
  return { due: due.filter((uid) => !next.includes(uid)), underWay: [...underWay, ...next] };
}
