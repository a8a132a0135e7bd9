/** The node conditions that met thresholds lead to, how long they hold after that, and the events about them. */
import { PRESSURE_CONDITIONS, type PressureCondition, pressureCondition } from './signals.ts';
import type { Threshold } from './thresholds.ts';

const EVENT_REASONS: Readonly<Record<PressureCondition, readonly [holds: string, isOver: string]>> = {
  MemoryPressure: ['NodeHasInsufficientMemory', 'NodeHasSufficientMemory'],
  DiskPressure: ['NodeHasDiskPressure', 'NodeHasNoDiskPressure'],
  PIDPressure: ['NodeHasInsufficientPID', 'NodeHasSufficientPID'],
};

/** The reason of the event on the node when the condition changes. */
export function nodePressureEventReason(type: PressureCondition, holds: boolean): string {
  return EVENT_REASONS[type][holds ? 0 : 1];
}

/** When a threshold of each condition was last met. */
export type ConditionTimes = ReadonlyMap<PressureCondition, number>;

/** In the order of the thresholds, each condition once. */
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

/** The conditions that hold: their thresholds were met within the transition period. So a condition does not flap with its signal. */
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
