/** The conditions of a node that the kubelet owns. All others stay as they are. */
import { type NodeEvent, statusEvent, type UpdatedNode } from './machine-resources.ts';
import { withStatus } from './node-software.ts';
import { asOneMessage } from '../formats/go-text.ts';
import type { PressureCondition } from '../eviction/signals.ts';
import type { Node, NodeCondition } from '../../../types/kubernetes.ts';

/** What stands in a pressure condition, and the reason of the event, with and without pressure. */
interface PressureTexts {
  readonly reason: string;
  readonly message: string;
  readonly event: string;
}

const PRESSURE: Readonly<Record<PressureCondition, Readonly<Record<'True' | 'False', PressureTexts>>>> = {
  MemoryPressure: {
    True: {
      reason: 'KubeletHasInsufficientMemory',
      message: 'kubelet has insufficient memory available',
      event: 'NodeHasInsufficientMemory',
    },
    False: {
      reason: 'KubeletHasSufficientMemory',
      message: 'kubelet has sufficient memory available',
      event: 'NodeHasSufficientMemory',
    },
  },
  DiskPressure: {
    True: {
      reason: 'KubeletHasDiskPressure',
      message: 'kubelet has disk pressure',
      event: 'NodeHasDiskPressure',
    },
    False: {
      reason: 'KubeletHasNoDiskPressure',
      message: 'kubelet has no disk pressure',
      event: 'NodeHasNoDiskPressure',
    },
  },
  PIDPressure: {
    True: {
      reason: 'KubeletHasInsufficientPID',
      message: 'kubelet has insufficient PID available',
      event: 'NodeHasInsufficientPID',
    },
    False: {
      reason: 'KubeletHasSufficientPID',
      message: 'kubelet has sufficient PID available',
      event: 'NodeHasSufficientPID',
    },
  },
};

/** Only the time of the last heartbeat changes while the status does not. `now` is RFC 3339. */
export function withPressure(
  node: Node,
  type: PressureCondition,
  pressure: boolean,
  now: string,
): UpdatedNode {
  const conditions = node.status?.conditions ?? [];
  const index = conditions.findLastIndex((condition) => condition.type === type);
  const before = conditions[index];
  const status = pressure ? 'True' : 'False';
  if (before?.status === status) {
    return { node: withCondition(node, index, { ...before, lastHeartbeatTime: now }), events: [] };
  }
  const { event, reason, message } = PRESSURE[type][status];
  const times = { lastHeartbeatTime: now, lastTransitionTime: now };
  const condition: NodeCondition = { type, status, ...times, reason, message };
  return {
    node: withCondition(node, index, condition),
    events: [statusEvent(node.metadata.name, event)],
  };
}

export interface Readiness {
  /** Why the node cannot run pods; empty: it can. */
  readonly problems: readonly string[];
  /** Something that should be so, but need not; empty where all is well. */
  readonly warning: string;
  /** Whether the node must know how much ephemeral storage it has. */
  readonly needsEphemeralStorage: boolean;
}

/** `now` is RFC 3339. */
export function withReady(node: Node, readiness: Readiness, now: string): UpdatedNode {
  const conditions = node.status?.conditions ?? [];
  const index = conditions.findIndex(({ type }) => type === 'Ready');
  const before = conditions[index];
  const condition = readyCondition(node, readiness, now);
  const isSame = before?.status === condition.status;
  const lastTransitionTime = isSame ? before.lastTransitionTime : now;
  return {
    node: withCondition(node, index, { ...condition, lastTransitionTime }),
    events: before && !isSame ? [readyEvent(node, condition)] : [],
  };
}

function readyEvent(node: Node, { status }: NodeCondition): NodeEvent {
  return statusEvent(node.metadata.name, status === 'True' ? 'NodeReady' : 'NodeNotReady');
}

function readyCondition(node: Node, readiness: Readiness, now: string): NodeCondition {
  const problems = [...readiness.problems, ...missingCapacities(node, readiness)];
  const isReady = problems.length === 0;
  const text = isReady ? 'kubelet is posting ready status' : asOneMessage(problems);
  const { warning } = readiness;
  return {
    type: 'Ready',
    status: isReady ? 'True' : 'False',
    lastHeartbeatTime: now,
    reason: isReady ? 'KubeletReady' : 'KubeletNotReady',
    message: warning === '' ? text : `${text}. WARNING: ${warning}`,
  };
}

const NEEDED = ['cpu', 'memory', 'pods'];

function missingCapacities({ status }: Node, { needsEphemeralStorage }: Readiness): string[] {
  const needed = needsEphemeralStorage ? [...NEEDED, 'ephemeral-storage'] : NEEDED;
  const missing = needed.filter((resource) => !Object.hasOwn(status?.capacity ?? {}, resource));
  return missing.length > 0 ? [`missing node capacity for resources: ${missing.join(', ')}`] : [];
}

/** Replaces the condition at `index`; without one there it comes last. */
function withCondition(node: Node, index: number, condition: NodeCondition): Node {
  const conditions = node.status?.conditions ?? [];
  return withStatus(node, {
    conditions: index < 0 ? [...conditions, condition] : conditions.with(index, condition),
  });
}
