import type { PluginCondition, ThresholdMetAnswer } from '../../types/eviction/eviction-plugin.ts';

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
