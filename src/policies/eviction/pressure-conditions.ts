/** The node conditions that pressure leads to, and how long they outlast it. */
import { PRESSURE_CONDITIONS, type PressureCondition, pressureCondition } from './signals.ts';
import type { Threshold } from './thresholds.ts';

/** When each condition was last brought about by a threshold. */
export type ConditionTimes = ReadonlyMap<PressureCondition, number>;

/** In the order of the thresholds that bring them about, each once. */
export function nodeConditions(met: readonly Threshold[]): readonly PressureCondition[] {
  const conditions = met.map(({ signal }) => pressureCondition(signal));
  return [...new Set(conditions.filter((condition) => condition !== undefined))];
}

export function conditionsLastObserved(
  conditions: readonly PressureCondition[],
  last: ConditionTimes,
  nowMs: number,
): ConditionTimes {
  return new Map([
    ...last,
    ...conditions.map((condition): [PressureCondition, number] => [condition, nowMs]),
  ]);
}

/** Those that hold: brought about within the transition period, so that a node that flaps does not look healthy in between. */
export function conditionsObservedSince(
  lastObserved: ConditionTimes,
  transitionPeriodMs: number,
  nowMs: number,
): readonly PressureCondition[] {
  return PRESSURE_CONDITIONS.filter((condition) => {
    const lastMs = lastObserved.get(condition);
    return lastMs !== undefined && nowMs - lastMs < transitionPeriodMs;
  });
}
