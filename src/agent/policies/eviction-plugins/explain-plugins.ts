/** The answers of eviction plugins and the decisions about them, as they are explained to people. */
import type { EvictPod } from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { isNamedIn, type RuledPod } from './collected-answers.ts';
import {
  confirmedThresholds,
  isHard,
  type ObservedCondition,
  type PassSettings,
  type PluginAnswers,
  type PluginObservations,
} from './plugin-pass.ts';
import type {
  ExplainedPlugin,
  ExplainedPluginCandidate,
  ExplainedPluginCondition,
  ExplainedPluginThreshold,
  PluginsExplanation,
  WantedPod,
} from './plugins-explanation.ts';
import type { PluginChoice, RuledCandidate } from './pod-choice.ts';

/** A plugin, without its answers. */
export type PluginFacts = Pick<
  ExplainedPlugin,
  'name' | 'origin' | 'state' | 'sinceMs' | 'problem' | 'isEnabled'
>;

interface Decided {
  readonly atMs: number;
  readonly answers: readonly PluginAnswers[];
  readonly choice: PluginChoice;
}

export interface PluginsFacts extends Pick<PluginsExplanation, 'state' | 'awaited' | 'kills'> {
  readonly plugins: readonly PluginFacts[];
  readonly settings: PassSettings;
  readonly observations: PluginObservations;
  readonly decided: Decided | undefined;
  /** The latest decision by which pods ended. */
  readonly ended: Decided | undefined;
  readonly nowMs: number;
}

export function explainPlugins(facts: PluginsFacts): PluginsExplanation {
  const { plugins, state, awaited, kills, decided, ended, observations, settings, nowMs } = facts;
  const inOrder = [...plugins].sort((a, b) => (a.name < b.name ? -1 : 1));
  const conditions = [...observations.conditions.values()].sort((a, b) =>
    a.condition.name < b.condition.name ? -1 : 1,
  );
  return {
    plugins: inOrder.map((plugin) => explainedPlugin(plugin, facts)),
    decidedMs: decided?.atMs,
    state,
    awaited,
    conditions: conditions.map((one) => explainedCondition(one, settings, nowMs)),
    candidates: decided?.choice.candidates.map(explainedCandidate) ?? [],
    ...(ended && {
      ended: { decidedMs: ended.atMs, candidates: ended.choice.candidates.map(explainedCandidate) },
    }),
    queue: decided?.choice.queued.map(({ pod }) => nameOf(pod)) ?? [],
    kills,
  };
}

function explainedPlugin(plugin: PluginFacts, facts: PluginsFacts): ExplainedPlugin {
  const { settings, decided } = facts;
  const answers = decided?.answers.find((one) => one.plugin === plugin.name);
  const { evictPods, topPods } = answers ?? {};
  const forceEvict = answers?.threshold !== undefined && isHard(answers.threshold);
  const top = topPods?.targetPods.map((pod) =>
    wanted({
      pod,
      reason: `for scope ${answers?.threshold?.scope ?? ''}`,
      forceEvict,
      // A candidate keeps its own grace period, whatever the answer says.
      gracePeriodSeconds: forceEvict ? topPods.gracePeriodSeconds : undefined,
    }),
  );
  return {
    ...plugin,
    isDryRun: isNamedIn(settings.dryRun, plugin.name),
    evictPods: evictPods?.evictPods.map(wanted),
    threshold: explainedThreshold(plugin.name, answers, facts),
    topPods: top,
    refused: answers?.refused ?? [],
  };
}

function explainedThreshold(
  plugin: string,
  answers: PluginAnswers | undefined,
  { observations: { thresholds }, decided }: PluginsFacts,
): ExplainedPluginThreshold | undefined {
  if (answers?.threshold === undefined) return undefined;
  const { metType, scope, thresholdValue, observedValue, gracePeriodSeconds } = answers.threshold;
  return {
    metType,
    scope,
    thresholdValue,
    observedValue,
    gracePeriodSeconds,
    firstObservedMs: thresholds.get(plugin)?.firstObservedAt,
    isConfirmed: confirmedThresholds(thresholds, decided?.atMs ?? 0).has(plugin),
  };
}

function explainedCondition(
  { condition: { name, effects }, lastObservedAt }: ObservedCondition,
  { conditionTransitionPeriodMs }: PassSettings,
  nowMs: number,
): ExplainedPluginCondition {
  const stands = nowMs - lastObservedAt < conditionTransitionPeriodMs;
  return { name, effects, lastObservedMs: lastObservedAt, stands };
}

function explainedCandidate({ ruled, verdict, why }: RuledCandidate): ExplainedPluginCandidate {
  const { plugin, scope } = ruled;
  return { ...wanted(ruled), plugin, scope, verdict, why };
}

function wanted({ pod, reason, forceEvict, gracePeriodSeconds }: EvictPod | RuledPod): WantedPod {
  return { pod: nameOf(pod), uid: pod.metadata.uid, reason, forceEvict, gracePeriodSeconds };
}

function nameOf({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}/${name}`;
}
