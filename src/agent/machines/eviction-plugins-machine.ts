/**
 * How eviction plugins are asked and what is done with their answers, as a statechart: one actor per node. The rules are in
 * src/agent/policies/eviction-plugins. A pass never overlaps another one: the period begins when a pass is over.
 *
 * The actor promises:
 * - `armPeriod` is answered by one PASS_DUE, with the plugins that are asked, unless disarmed;
 * - `askPlugins` is answered by one PLUGIN_ANSWERED for each of these plugins, also when it fails or its time is up. A plugin whose threshold
 *   is confirmed has been asked for pods by then, within the same deadline;
 * - `choosePods` is answered by one CHOSEN, by the facts of that moment;
 * - `endPods` is answered by one HANDED_OVER: each pod is ended by a chart of its own, and not waited for.
 */
import { assign, setup } from 'xstate';
import {
  NOTHING_OBSERVED,
  observePlugins,
  type PassSettings,
  type PluginAnswers,
  type PluginObservations,
} from '../policies/eviction-plugins/plugin-pass.ts';
import type { PluginChoice } from '../policies/eviction-plugins/pod-choice.ts';
import { asksOf } from './ask.ts';

export interface EvictionPluginsInput {
  readonly settings: PassSettings;
}

/** A pass that is over: the answers, and the choice. */
export interface DecidedPass {
  readonly atMs: number;
  readonly answers: readonly PluginAnswers[];
  readonly choice: PluginChoice;
}

export interface EvictionPluginsContext extends EvictionPluginsInput {
  /** Names of the plugins that have not answered yet. */
  readonly awaited: readonly string[];
  /** Of the pass that is under way. */
  readonly answers: readonly PluginAnswers[];
  /** When the pass began, in Unix milliseconds: the answers of the pass count from then on. */
  readonly nowMs: number;
  /** The thresholds that are met, with their first observation, and the conditions that count. */
  readonly observations: PluginObservations;
  /** The latest decision; undefined before the first. */
  readonly decided: DecidedPass | undefined;
  /** The latest decision by which pods ended. */
  readonly ended: DecidedPass | undefined;
}

export type EvictionPluginsEvent =
  | {
      readonly type: 'PASS_DUE';
      readonly plugins: readonly string[];
      readonly nowMs: number;
      /** Undefined: as before. */
      readonly settings?: PassSettings | undefined;
    }
  /** As far as the plugin has answered, and its answers were accepted. */
  | { readonly type: 'PLUGIN_ANSWERED'; readonly answers: PluginAnswers }
  | { readonly type: 'CHOSEN'; readonly choice: PluginChoice }
  | { readonly type: 'HANDED_OVER' };

function initialContext({ input }: { input: EvictionPluginsInput }): EvictionPluginsContext {
  return {
    ...input,
    awaited: [],
    answers: [],
    nowMs: 0,
    observations: NOTHING_OBSERVED,
    decided: undefined,
    ended: undefined,
  };
}

const ask = asksOf('evictionPlugins', 'src/agent/actors/plugins/plugin-manager.ts');

export const evictionPluginsMachine = setup({
  types: {
    context: {} as EvictionPluginsContext,
    events: {} as EvictionPluginsEvent,
    input: {} as EvictionPluginsInput,
  },
  guards: {
    asksNone: ({ event }) => event.type === 'PASS_DUE' && event.plugins.length === 0,
    isLastAwaited: ({ context, event }) =>
      event.type === 'PLUGIN_ANSWERED' && context.awaited.every((plugin) => plugin === event.answers.plugin),
    hasPodsToEnd: ({ event }) =>
      event.type === 'CHOSEN' && event.choice.ending.length + event.choice.underWay.length > 0,
  },
  actions: {
    beginPass: assign(({ context, event }) => {
      if (event.type !== 'PASS_DUE') return {};
      const { plugins, nowMs, settings = context.settings } = event;
      return { awaited: plugins, answers: [], nowMs, settings };
    }),
    recordAnswers: assign(({ context, event }) =>
      event.type === 'PLUGIN_ANSWERED'
        ? {
            awaited: context.awaited.filter((plugin) => plugin !== event.answers.plugin),
            answers: [...context.answers, event.answers],
          }
        : {},
    ),
    recordObservations: assign({
      observations: ({ context: { answers, observations, settings, nowMs } }) =>
        observePlugins(answers, observations, settings, nowMs),
    }),
    recordChoice: assign(({ context, event }) => {
      if (event.type !== 'CHOSEN') return {};
      const { choice } = event;
      const decided = { atMs: context.nowMs, answers: context.answers, choice };
      return choice.ending.length > 0 ? { decided, ended: decided } : { decided };
    }),

    // Asked of the actor.
    armPeriod: ask(),
    disarmPeriod: ask(),
    askPlugins: ask(),
    reportObservations: ask(),
    choosePods: ask(),
    reportChoice: ask(),
    endPods: ask(),
  },
}).createMachine({
  id: 'evictionPlugins',
  description: 'Asks eviction plugins, and ends the pods that the rules choose by their answers',
  context: initialContext,
  initial: 'Waiting',
  states: {
    Waiting: {
      description: 'The last pass ended less than a period ago',
      entry: ['armPeriod'],
      exit: ['disarmPeriod'],
      on: {
        PASS_DUE: [
          {
            description: 'There is no plugin: thresholds are not met any more, and conditions end in time',
            guard: 'asksNone',
            actions: ['beginPass'],
            target: 'Choosing',
          },
          { actions: ['beginPass'], target: 'Collecting' },
        ],
      },
    },
    Collecting: {
      description:
        'All plugins are asked at once which pods should go and whether their threshold is met, each with a deadline of its own. A plugin whose threshold has been met for its grace period is also asked for pods: for one pod if the threshold is hard, for candidates if it is soft',
      entry: ['askPlugins'],
      on: {
        PLUGIN_ANSWERED: [
          { guard: 'isLastAwaited', actions: ['recordAnswers'], target: 'Choosing' },
          { actions: ['recordAnswers'] },
        ],
      },
    },
    Choosing: {
      description:
        'The rules choose among the pods that plugins have named. A threshold counts from the pass in which it was first met. A condition counts for the transition period after it was last observed',
      entry: ['recordObservations', 'reportObservations', 'choosePods'],
      on: {
        CHOSEN: [
          { guard: 'hasPodsToEnd', actions: ['recordChoice', 'reportChoice'], target: 'Killing' },
          { actions: ['recordChoice', 'reportChoice'], target: 'Waiting' },
        ],
      },
    },
    Killing: {
      description:
        'Some of the chosen pods, as many as a burst allows, are being handed over to be ended; the choice of the others is dropped',
      entry: ['endPods'],
      on: {
        HANDED_OVER: { target: 'Waiting' },
      },
    },
  },
});
