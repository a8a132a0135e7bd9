/**
 * How eviction plugins are asked and what is done with their answers, as a statechart: one actor per node. The rules are in
 * src/agent/policies/eviction-plugins. A pass never overlaps another one: the period begins when a pass is over.
 *
 * The actor promises:
 * - `armPeriod` is answered by one PASS_DUE, with the plugins that are asked, unless disarmed;
 * - `askPlugins` is answered by one PLUGIN_ANSWERED for each of these plugins, also when it fails or its time is up;
 * - `askForTopPods` is answered by one TOP_PODS_ANSWERED for each awaited plugin, in the same way;
 * - `choosePods` is answered by one CHOSEN, by the facts of that moment;
 * - `endPods` is answered by one HANDED_OVER: each pod is ended by a chart of its own, and not waited for.
 */
import { assign, setup } from 'xstate';
import {
  confirmedThresholds,
  NOTHING_OBSERVED,
  observePlugins,
  type PassSettings,
  type PluginAnswers,
  type PluginObservations,
} from '../policies/eviction-plugins/plugin-pass.ts';
import type { PluginChoice } from '../policies/eviction-plugins/pod-choice.ts';
import type { TopEvictionPodsAnswer } from '../../types/eviction-plugin.ts';
import { asksOf } from './ask.ts';

export interface EvictionPluginsInput {
  readonly settings: PassSettings;
}

/** A pass that is over: what was answered, and what came of it. */
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
  /** When the latest answer came, in Unix milliseconds. */
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
  | { readonly type: 'PLUGIN_ANSWERED'; readonly answers: PluginAnswers; readonly nowMs: number }
  | {
      readonly type: 'TOP_PODS_ANSWERED';
      readonly plugin: string;
      /** Undefined where the plugin has not answered, or its answer was not accepted. */
      readonly topPods: TopEvictionPodsAnswer | undefined;
      readonly refused: readonly string[];
    }
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

/** The plugins whose threshold has been met for its grace period. */
function confirmedPlugins({ observations, nowMs }: EvictionPluginsContext): readonly string[] {
  return [...confirmedThresholds(observations.thresholds, nowMs).keys()];
}

function answering(event: EvictionPluginsEvent): string | undefined {
  if (event.type === 'PLUGIN_ANSWERED') return event.answers.plugin;
  return event.type === 'TOP_PODS_ANSWERED' ? event.plugin : undefined;
}

function without(awaited: readonly string[], event: EvictionPluginsEvent): readonly string[] {
  return awaited.filter((plugin) => plugin !== answering(event));
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
    isLastAwaited: ({ context, event }) => context.awaited.every((plugin) => plugin === answering(event)),
    hasConfirmedThreshold: ({ context }) => confirmedPlugins(context).length > 0,
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
            awaited: without(context.awaited, event),
            answers: [...context.answers, event.answers],
            nowMs: event.nowMs,
          }
        : {},
    ),
    recordObservations: assign({
      observations: ({ context: { answers, observations, settings, nowMs } }) =>
        observePlugins(answers, observations, settings, nowMs),
    }),
    awaitTopPods: assign({ awaited: ({ context }) => confirmedPlugins(context) }),
    recordTopPods: assign(({ context, event }) => {
      if (event.type !== 'TOP_PODS_ANSWERED') return {};
      const { plugin, topPods, refused } = event;
      const answers = context.answers.map((one) =>
        one.plugin === plugin
          ? { ...one, ...(topPods && { topPods }), refused: [...one.refused, ...refused] }
          : one,
      );
      return { awaited: without(context.awaited, event), answers };
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
    askForTopPods: ask(),
    choosePods: ask(),
    reportChoice: ask(),
    endPods: ask(),
  },
}).createMachine({
  id: 'evictionPlugins',
  description: 'Asking eviction plugins, and ending the pods that the rules choose by their answers',
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
            description: 'No plugin is there: thresholds are not met any more, conditions go in time',
            guard: 'asksNone',
            actions: ['beginPass'],
            target: 'Confirming',
          },
          { actions: ['beginPass'], target: 'Collecting' },
        ],
      },
    },
    Collecting: {
      description:
        'All plugins are asked at once which pods should go and whether their threshold is met, each with its own deadline',
      entry: ['askPlugins'],
      on: {
        PLUGIN_ANSWERED: [
          { guard: 'isLastAwaited', actions: ['recordAnswers'], target: 'Confirming' },
          { actions: ['recordAnswers'] },
        ],
      },
    },
    Confirming: {
      description:
        'Thresholds count from their first observation; those are confirmed whose grace period is over. Conditions count for the transition period after their last observation',
      entry: ['recordObservations', 'reportObservations'],
      always: [
        { guard: 'hasConfirmedThreshold', actions: ['awaitTopPods'], target: 'Choosing' },
        { target: 'Choosing.ByRules' },
      ],
    },
    Choosing: {
      initial: 'ForThresholds',
      states: {
        ForThresholds: {
          description:
            'For each confirmed threshold, its plugin is asked for pods: for one if it is hard, for candidates if it is soft',
          entry: ['askForTopPods'],
          on: {
            TOP_PODS_ANSWERED: [
              { guard: 'isLastAwaited', actions: ['recordTopPods'], target: 'ByRules' },
              { actions: ['recordTopPods'] },
            ],
          },
        },
        ByRules: {
          description: 'The rules choose among all pods that plugins have named',
          entry: ['choosePods'],
          on: {
            CHOSEN: [
              {
                guard: 'hasPodsToEnd',
                actions: ['recordChoice', 'reportChoice'],
                target: '#evictionPlugins.Killing',
              },
              { actions: ['recordChoice', 'reportChoice'], target: '#evictionPlugins.Waiting' },
            ],
          },
        },
      },
    },
    Killing: {
      description:
        'A burst of the chosen pods is handed over to be ended; the others of an earlier choice are withdrawn',
      entry: ['endPods'],
      on: {
        HANDED_OVER: { target: 'Waiting' },
      },
    },
  },
});
