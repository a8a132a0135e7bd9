/** The conditions, events and taints of a node under pressure, in the words of the kubelet. */
import type { Taint } from '../../types/kubernetes.ts';
import type { PressureCondition } from './signals.ts';

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
