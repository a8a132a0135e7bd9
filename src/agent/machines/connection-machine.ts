/**
 * The connection of a node to its API server, as a statechart: its state by the latest requests. Nothing waits for it or depends on it: it shows
 * people why statuses do not arrive, and since when.
 *
 * The actor keeps to this: each request that ends sends one event, in the order in which they end. A request that was cancelled sends none.
 */
import { assign, setup } from 'xstate';
import { asksOf } from './ask.ts';

export interface ConnectionInput {
  /** When the agent began. Unix ms. */
  readonly now: number;
}

export interface ConnectionContext {
  /** When the present state was entered. Unix ms. */
  readonly since: number;
  /** The error of the latest request that failed or was refused; undefined while connected. */
  readonly problem: string | undefined;
}

export type ConnectionEvent =
  /** The server answered, and knows who asks. It may have refused the request. */
  | { readonly type: 'ANSWERED'; readonly now: number }
  /** The server does not accept the credentials. */
  | { readonly type: 'UNAUTHORIZED'; readonly problem: string; readonly now: number }
  /** There was no answer, or not a whole one. */
  | { readonly type: 'FAILED'; readonly problem: string; readonly now: number };

function initialContext({ input }: { input: ConnectionInput }): ConnectionContext {
  return { since: input.now, problem: undefined };
}

const ask = asksOf('connection', 'src/agent/actors/cluster/api-connection.ts');

export const connectionMachine = setup({
  types: {
    context: {} as ConnectionContext,
    events: {} as ConnectionEvent,
    input: {} as ConnectionInput,
  },
  guards: {
    isFirstProblem: ({ context }) => context.problem === undefined,
  },
  actions: {
    recordChange: assign(({ event }) => ({
      since: event.now,
      problem: 'problem' in event ? event.problem : undefined,
    })),
    recordProblem: assign(({ context, event }) => ({
      problem: 'problem' in event ? event.problem : context.problem,
    })),

    // Actions of the actor. They run before the change is recorded: the context is the old one, and the event has the news.
    reportConnected: ask(),
    reportWaiting: ask(),
    reportUnauthorized: ask(),
  },
}).createMachine({
  id: 'connection',
  description: 'The connection to the API server, as the latest requests show it',
  context: initialContext,
  initial: 'Waiting',
  states: {
    Waiting: {
      description:
        'The API server has not answered yet, or did not answer the latest request. Running pods go on, and writes to it wait',
      on: {
        ANSWERED: { actions: ['reportConnected', 'recordChange'], target: 'Connected' },
        UNAUTHORIZED: { actions: ['reportUnauthorized', 'recordChange'], target: 'Unauthorized' },
        FAILED: [
          { guard: 'isFirstProblem', actions: ['reportWaiting', 'recordProblem'] },
          { actions: ['recordProblem'] },
        ],
      },
    },
    Connected: {
      description: 'The server answers',
      on: {
        UNAUTHORIZED: { actions: ['reportUnauthorized', 'recordChange'], target: 'Unauthorized' },
        FAILED: { actions: ['reportWaiting', 'recordChange'], target: 'Waiting' },
      },
    },
    Unauthorized: {
      description:
        'The server answers, but does not accept the credentials. Waits for others, from a new certificate, a token file or a plugin',
      on: {
        ANSWERED: { actions: ['reportConnected', 'recordChange'], target: 'Connected' },
        UNAUTHORIZED: { actions: ['recordProblem'] },
        FAILED: { actions: ['reportWaiting', 'recordChange'], target: 'Waiting' },
      },
    },
  },
});
