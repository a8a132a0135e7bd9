/** The result of one round of questions to eviction plugins: which thresholds and conditions count, and which pods are to end. */
import type { EvictionPluginSettings } from '../../../types/node-settings.ts';
import type {
  GetEvictPodsAnswer,
  PluginCondition,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
} from '../../../types/eviction-plugin.ts';
import { CollectedAnswers } from './collected-answers.ts';

/** What a plugin has answered in one pass, as far as it was accepted. */
export interface PluginAnswers {
  readonly plugin: string;
  readonly evictPods?: GetEvictPodsAnswer;
  readonly threshold?: ThresholdMetAnswer;
  /** Asked only where its threshold is confirmed. */
  readonly topPods?: TopEvictionPodsAnswer;
  /** What of its answers was not accepted, as sentences. */
  readonly refused: readonly string[];
}

/** What is kept from pass to pass. */
export interface PluginObservations {
  /** By the names of the plugins. */
  readonly thresholds: ReadonlyMap<string, ObservedThreshold<ThresholdMetAnswer>>;
  /** By their own names; those that count. */
  readonly conditions: ReadonlyMap<string, ObservedCondition>;
}

export type PassSettings = Pick<
  EvictionPluginSettings,
  'dryRun' | 'conditionTransitionPeriodMs' | 'evictionBurst'
>;

export const NOTHING_OBSERVED: PluginObservations = { thresholds: new Map(), conditions: new Map() };

export function observePlugins(
  answers: readonly PluginAnswers[],
  before: PluginObservations,
  { dryRun, conditionTransitionPeriodMs }: PassSettings,
  nowMs: number,
): PluginObservations {
  const reported = collect(answers, dryRun);
  const conditions = observeConditions(reported.conditions, before.conditions, nowMs);
  const standing = standingConditions(conditions, conditionTransitionPeriodMs, nowMs);
  return {
    thresholds: observeThresholds(reported.thresholds, before.thresholds, nowMs),
    conditions: new Map([...conditions].filter(([name]) => standing.has(name))),
  };
}

/** In the order of their names. */
export function conditionsOf({ conditions }: PluginObservations): readonly PluginCondition[] {
  const names = [...conditions.keys()].sort();
  return names.flatMap((name) => conditions.get(name)?.condition ?? []);
}

/** All answers together, in the order of the plugins' names: which plugin was quicker does not count. */
export function collect(answers: readonly PluginAnswers[], dryRun: readonly string[]): CollectedAnswers {
  const collected = new CollectedAnswers(dryRun);
  const inOrder = [...answers].sort((a, b) => (a.plugin < b.plugin ? -1 : 1));
  for (const { plugin, evictPods, threshold } of inOrder) {
    if (evictPods) collected.evictPods(plugin, evictPods);
    if (threshold) collected.thresholdMet(plugin, threshold);
  }
  for (const { plugin, threshold, topPods } of inOrder) {
    if (threshold === undefined || topPods === undefined) continue;
    if (isHard(threshold)) collected.topPods(plugin, threshold, topPods);
    else collected.topSoftPods(plugin, threshold, topPods);
  }
  return collected;
}

/** For a hard threshold one pod is evicted in any case; pods that are named for a soft one are candidates. */
export function isHard({ metType }: Pick<ThresholdMetAnswer, 'metType'>): boolean {
  return metType === 'HARD_MET';
}

/** A threshold that a plugin reports as met now. */
export interface ObservedThreshold<T> {
  /** In milliseconds: since when it has been reported without a break. */
  readonly firstObservedAt: number;
  readonly threshold: T;
}

/** By the names of the plugins. A threshold that is not reported now loses the time of its first observation. */
export function observeThresholds<T>(
  reported: ReadonlyMap<string, T>,
  before: ReadonlyMap<string, ObservedThreshold<T>>,
  now: number,
): ReadonlyMap<string, ObservedThreshold<T>> {
  return new Map(
    Array.from(reported, ([plugin, threshold]) => [
      plugin,
      { threshold, firstObservedAt: before.get(plugin)?.firstObservedAt ?? now },
    ]),
  );
}

type Graceful = Pick<ThresholdMetAnswer, 'gracePeriodSeconds'>;

/** The thresholds whose grace period is over. */
export function confirmedThresholds<T extends Graceful>(
  observed: ReadonlyMap<string, ObservedThreshold<T>>,
  now: number,
): ReadonlyMap<string, T> {
  const isOver = ({ firstObservedAt, threshold }: ObservedThreshold<T>) =>
    now - firstObservedAt >= threshold.gracePeriodSeconds * 1000;
  return new Map(
    [...observed].filter(([, entry]) => isOver(entry)).map(([plugin, { threshold }]) => [plugin, threshold]),
  );
}

/** Whether the plugin is to be asked for pods: its threshold, as it answers now, has been met for its grace period. */
export function isConfirmed(
  plugin: string,
  threshold: ThresholdMetAnswer,
  { thresholds }: PluginObservations,
  now: number,
): boolean {
  if (threshold.metType === 'NOT_MET') return false;
  const observed = observeThresholds(new Map([[plugin, threshold]]), thresholds, now);
  return confirmedThresholds(observed, now).has(plugin);
}

export interface ObservedCondition<T = PluginCondition> {
  /** In milliseconds. */
  readonly lastObservedAt: number;
  readonly condition: T;
}

/** By the names of the conditions. One that is not reported now keeps the time of its last observation. */
export function observeConditions<T>(
  reported: ReadonlyMap<string, T>,
  before: ReadonlyMap<string, ObservedCondition<T>>,
  now: number,
): ReadonlyMap<string, ObservedCondition<T>> {
  const seen = Array.from(
    reported,
    ([name, condition]) => [name, { condition, lastObservedAt: now }] as const,
  );
  return new Map([...before, ...seen]);
}

/** The conditions that count: for the transition period after each was last observed. */
export function standingConditions<T>(
  observed: ReadonlyMap<string, ObservedCondition<T>>,
  transitionPeriodMs: number,
  now: number,
): ReadonlyMap<string, T> {
  const standing = [...observed].filter(
    ([, { lastObservedAt }]) => now - lastObservedAt < transitionPeriodMs,
  );
  return new Map(standing.map(([name, { condition }]) => [name, condition]));
}
