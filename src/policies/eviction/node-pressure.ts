/** The conditions, events and taints of a node under pressure, in the words of the kubelet. */
import type { Taint } from '../../types/kubernetes.ts';
import { PRESSURE_CONDITIONS, type PressureCondition, pressureCondition } from './signals.ts';
import type { Threshold } from './thresholds.ts';

export interface NodePressure {
  readonly type: PressureCondition;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

interface Words {
  readonly reason: string;
  readonly message: string;
  readonly event: string;
}

interface ConditionTexts {
  readonly holds: Words;
  readonly doesNot: Words;
  readonly taint: string;
}

const TEXTS: Readonly<Record<PressureCondition, ConditionTexts>> = {
  MemoryPressure: {
    holds: words('HasInsufficientMemory', 'has insufficient memory available'),
    doesNot: words('HasSufficientMemory', 'has sufficient memory available'),
    taint: 'node.kubernetes.io/memory-pressure',
  },
  DiskPressure: {
    holds: words('HasDiskPressure', 'has disk pressure'),
    doesNot: words('HasNoDiskPressure', 'has no disk pressure'),
    taint: 'node.kubernetes.io/disk-pressure',
  },
  PIDPressure: {
    holds: words('HasInsufficientPID', 'has insufficient PID available'),
    doesNot: words('HasSufficientPID', 'has sufficient PID available'),
    taint: 'node.kubernetes.io/pid-pressure',
  },
};

function words(name: string, text: string): Words {
  return { reason: `Kubelet${name}`, message: `kubelet ${text}`, event: `Node${name}` };
}

export function nodePressure(type: PressureCondition, holds: boolean): NodePressure {
  const { reason, message } = wordsFor(type, holds);
  return { type, status: holds ? 'True' : 'False', reason, message };
}

/** The reason of the event on the node when the condition changes. */
export function nodePressureEventReason(type: PressureCondition, holds: boolean): string {
  return wordsFor(type, holds).event;
}

/** Keeps the scheduler from sending more pods while the condition holds. */
export function nodePressureTaint(type: PressureCondition): Taint {
  return { key: TEXTS[type].taint, effect: 'NoSchedule' };
}

function wordsFor(type: PressureCondition, holds: boolean): Words {
  return holds ? TEXTS[type].holds : TEXTS[type].doesNot;
}

// The node conditions that met thresholds lead to, and how long they hold after that.

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
