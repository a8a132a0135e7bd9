/**
 * The writer of pod statuses as a statechart: one for the node. It writes while there are statuses to be written. Where the API server
 * does not answer, it waits, and then tries with one status, so that a server that comes back gets no burst. What is written is
 * decided by src/agent/policies/cluster.
 *
 * The actor keeps to this: DUE is sent when a status may have to be written; each write that `writeSome` or `writeOne` began is
 * answered by one of ANSWERED and NOT_ANSWERED; ALL_WRITTEN is sent when there is nothing to begin and nothing under way.
 */
import { assign, setup } from 'xstate';
import { writeBackOffMs } from '../policies/cluster/status-write.ts';
import { asksOf } from './ask.ts';

export interface StatusWriterContext {
  /** Writes in a row that the server did not answer. */
  readonly failures: number;
  /** Why the last write was not answered; undefined after an answer. */
  readonly problem: string | undefined;
  /** How long the server asked to be left alone. */
  readonly askedMs: number | undefined;
  /** Since when it does not answer. Unix ms. */
  readonly since: number | undefined;
}

export type StatusWriterEvent =
  | { readonly type: 'DUE' }
  /** The server answered, perhaps with a refusal. */
  | { readonly type: 'ANSWERED' }
  /** The server did not answer, or wants fewer requests, or cannot answer any (429, 5xx). */
  | {
      readonly type: 'NOT_ANSWERED';
      readonly problem: string;
      readonly askedMs?: number;
      readonly now: number;
    }
  | { readonly type: 'ALL_WRITTEN' }
  /** Something else has had an answer of the server. */
  | { readonly type: 'CONNECTED' }
  | { readonly type: 'STOP' };

const ANSWERING = { failures: 0, problem: undefined, askedMs: undefined, since: undefined };

const ask = asksOf('status writer', 'src/agent/actors/cluster/status-writer.ts');

export const statusWriterMachine = setup({
  types: {
    context: {} as StatusWriterContext,
    events: {} as StatusWriterEvent,
  },
  delays: { retry: ({ context }) => writeBackOffMs(context.failures, context.askedMs) },
  actions: {
    recordAnswer: assign(ANSWERING),
    recordFailure: assign(({ context, event }) =>
      event.type === 'NOT_ANSWERED'
        ? {
            failures: context.failures + 1,
            problem: event.problem,
            askedMs: event.askedMs,
            since: context.since ?? event.now,
          }
        : context,
    ),

    // Asked of the actor.
    writeSome: ask(),
    writeOne: ask(),
    reportFailure: ask(),
    reportAnswer: ask(),
  },
}).createMachine({
  id: 'statusWriter',
  description: 'Writes the statuses of pods to the API server',
  context: ANSWERING,
  initial: 'Idle',
  on: { STOP: { target: '.Stopped' } },
  states: {
    Idle: {
      description: 'The API server has every status',
      on: { DUE: { target: 'Writing' } },
    },
    Writing: {
      description: 'Statuses are being written, a few at a time',
      entry: ['writeSome'],
      on: {
        DUE: { actions: ['writeSome'] },
        ANSWERED: { actions: ['writeSome'] },
        NOT_ANSWERED: { actions: ['reportFailure', 'recordFailure'], target: 'Waiting' },
        ALL_WRITTEN: { target: 'Idle' },
      },
    },
    Waiting: {
      description: 'The API server does not answer: nothing is begun for a while',
      after: { retry: { target: 'Trying' } },
      on: {
        NOT_ANSWERED: { description: 'Another write that was under way' },
        ANSWERED: { actions: ['reportAnswer', 'recordAnswer'], target: 'Writing' },
        CONNECTED: { target: 'Trying' },
      },
    },
    Trying: {
      description: 'One status is written, to see whether the API server answers again',
      entry: ['writeOne'],
      on: {
        ANSWERED: { actions: ['reportAnswer', 'recordAnswer'], target: 'Writing' },
        NOT_ANSWERED: { actions: ['reportFailure', 'recordFailure'], target: 'Waiting' },
        ALL_WRITTEN: { actions: ['recordAnswer'], target: 'Idle' },
      },
    },
    Stopped: { type: 'final' },
  },
});
