/**
 * One eviction plugin as a statechart, from the moment its socket is found until it is gone: whether it can be asked, and how it answers. What it
 * must say of itself is decided by src/agent/policies/eviction-plugins/plugin-registration.ts.
 *
 * The actor keeps to this: `askPlugin` is answered by one of ACCEPTED, REFUSED and NOT_ANSWERED; `tellAccepted` and `tellRefused` by one of TOLD and
 * NOT_TOLD. After `endCall` there is no answer. ANSWERED and FAILED are the result of questions that were asked together.
 */
import { assign, setup } from 'xstate';
import { registrationBackOffMs } from '../policies/eviction-plugins/plugin-registration.ts';
import { asksOf } from './ask.ts';

export interface PluginInput {
  /** `built-in`, or the path of its socket. */
  readonly origin: string;
  /** Unix ms. */
  readonly now: number;
}

export interface PluginContext {
  readonly origin: string;
  /** As it names itself; undefined until it has answered. */
  readonly name: string | undefined;
  /** When the present state was entered: one of Registering, Serving, Failing and Gone. Unix ms. */
  readonly since: number;
  /** Why it is not registered, fails or is gone; undefined while it serves. */
  readonly problem: string | undefined;
  /** How often in a row it was not registered, or failed to answer. */
  readonly failures: number;
}

export type PluginEvent =
  /** It can be registered. */
  | { readonly type: 'ACCEPTED'; readonly name: string }
  /** It has said what it is, and is not taken. */
  | { readonly type: 'REFUSED'; readonly name: string; readonly problem: string }
  /** It does not listen, does not answer, or not with what can be read. */
  | { readonly type: 'NOT_ANSWERED'; readonly problem: string }
  | { readonly type: 'TOLD'; readonly now: number }
  | { readonly type: 'NOT_TOLD'; readonly problem: string; readonly now: number }
  | { readonly type: 'ANSWERED'; readonly now: number }
  | { readonly type: 'FAILED'; readonly problem: string; readonly now: number }
  | { readonly type: 'SOCKET_GONE'; readonly now: number }
  /** Another plugin of its name was registered. `by`: the path of its socket. */
  | { readonly type: 'REPLACED'; readonly by: string; readonly now: number }
  | { readonly type: 'STOP' };

/** What other parts may ask: whether questions are put to it. */
export type PluginTag = 'asked';

function initialContext({ input }: { input: PluginInput }): PluginContext {
  return { origin: input.origin, name: undefined, since: input.now, problem: undefined, failures: 0 };
}

const ask = asksOf('plugin', 'src/agent/actors/plugins/plugin-worker.ts');

export const pluginMachine = setup({
  types: {
    context: {} as PluginContext,
    events: {} as PluginEvent,
    input: {} as PluginInput,
    tags: {} as PluginTag,
  },
  delays: { retry: ({ context }) => registrationBackOffMs(context.failures) },
  actions: {
    recordName: assign({
      name: ({ context, event }) => ('name' in event ? event.name : context.name),
    }),
    recordFailure: assign(({ context, event }) => ({
      problem: 'problem' in event ? event.problem : context.problem,
      failures: context.failures + 1,
    })),
    recordServing: assign(({ context, event }) => ({
      since: 'now' in event ? event.now : context.since,
      problem: undefined,
      failures: 0,
    })),
    recordFailing: assign(({ context, event }) => ({
      since: 'now' in event ? event.now : context.since,
      problem: 'problem' in event ? event.problem : context.problem,
      failures: 1,
    })),
    recordGone: assign(({ context, event }) => ({
      since: 'now' in event ? event.now : context.since,
      problem: event.type === 'REPLACED' ? `replaced by the plugin at ${event.by}` : 'its socket is gone',
    })),

    // Actions of the actor. Reports run before the change is recorded: the context is the old one, and the event has the news.
    askPlugin: ask(),
    tellAccepted: ask(),
    tellRefused: ask(),
    endCall: ask(),
    serve: ask(),
    release: ask(),
    reportProblem: ask(),
    reportServing: ask(),
    reportUntold: ask(),
    reportFailing: ask(),
    reportRecovery: ask(),
    reportGone: ask(),
  },
}).createMachine({
  id: 'plugin',
  description: 'One eviction plugin: its registration, and how it answers',
  context: initialContext,
  initial: 'Registering',
  on: {
    SOCKET_GONE: { actions: ['reportGone', 'recordGone'], target: '.Gone' },
    REPLACED: { actions: ['reportGone', 'recordGone'], target: '.Gone' },
    STOP: { target: '.Stopped' },
  },
  states: {
    Registering: {
      description: 'Its socket is there, but it is not registered yet',
      initial: 'Asking',
      exit: ['endCall'],
      states: {
        Asking: {
          description:
            'It is asked for its type, its name and its versions. A built-in plugin is registered at once',
          entry: ['askPlugin'],
          on: {
            ACCEPTED: { actions: ['recordName'], target: 'Accepting' },
            REFUSED: { actions: ['recordName', 'reportProblem', 'recordFailure'], target: 'Refusing' },
            NOT_ANSWERED: { actions: ['reportProblem', 'recordFailure'], target: 'BackingOff' },
          },
        },
        Accepting: {
          description:
            'It is told that it is registered. If the call fails, the plugin is asked for pods nevertheless',
          entry: ['tellAccepted'],
          on: {
            TOLD: { actions: ['serve', 'reportServing', 'recordServing'], target: '#plugin.Serving' },
            NOT_TOLD: {
              actions: ['reportUntold', 'serve', 'reportServing', 'recordServing'],
              target: '#plugin.Serving',
            },
          },
        },
        Refusing: {
          description: 'It is told why it is not registered',
          entry: ['tellRefused'],
          on: {
            TOLD: { target: 'BackingOff' },
            NOT_TOLD: { actions: ['reportUntold'], target: 'BackingOff' },
          },
        },
        BackingOff: {
          description:
            'It was refused, or did not answer. It is asked again after a while, as long as its socket is there',
          entry: ['endCall'],
          after: { retry: { target: 'Asking' } },
        },
      },
    },
    Serving: {
      description: 'It is asked for pods, and answers',
      tags: ['asked'],
      on: {
        FAILED: { actions: ['reportFailing', 'recordFailing'], target: 'Failing' },
      },
    },
    Failing: {
      description:
        'It did not answer the latest question, or with something that cannot be read. It is asked again in each pass',
      tags: ['asked'],
      on: {
        ANSWERED: { actions: ['reportRecovery', 'recordServing'], target: 'Serving' },
        FAILED: { actions: ['recordFailure'] },
      },
    },
    Gone: {
      description: 'Its socket is gone, or another plugin has taken its name: it is not asked any more',
      type: 'final',
      entry: ['release'],
    },
    Stopped: { type: 'final' },
  },
});
