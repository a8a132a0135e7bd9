/** The conditions in a pod's status: the kubelet's own, and those that others have set, which it does not change. */
import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from '../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';
import { DISRUPTION_TARGET, isOwnedByKubelet } from './condition-owners.ts';
import { podSandboxChanged } from '../sync/pod-sandbox-changed.ts';
import {
  containersReadyCondition,
  endReason,
  podInitializedCondition,
  podReadyCondition,
} from './readiness-conditions.ts';

export interface ConditionFacts {
  readonly pod: Pod;
  readonly podStatus: RuntimePodStatus;
  /** The status that was reported last. */
  readonly previous: PodStatus | undefined;
  readonly phase: string;
  /** The statuses of init and regular containers. */
  readonly containerStatuses: readonly ContainerStatus[];
  readonly podRestarting: boolean;
  /** Conditions that a kill adds: why the pod was disrupted. */
  readonly added?: readonly PodCondition[];
  /** RFC 3339 in whole seconds. */
  readonly now: string;
}

/** In the kubelet's order. A condition whose status has not changed keeps its lastTransitionTime. */
export function podConditions(facts: ConditionFacts): PodCondition[] {
  const { pod, podStatus, previous, phase, containerStatuses: statuses } = facts;
  const others = othersConditions(facts);
  const old = previous?.conditions ?? [];
  const own = [
    readyToStartContainersCondition(pod, podStatus),
    podInitializedCondition(pod, old, statuses, phase),
    podReadyCondition(pod, others, statuses, phase),
    containersReadyCondition(pod, statuses, phase),
    { type: 'PodScheduled', status: 'True' },
    ...allContainersRestartingCondition(facts),
  ];
  return [...others, ...own.map((condition) => stamped(facts, condition))];
}

/** True while the pod has a sandbox with a network in which containers can be started. */
function readyToStartContainersCondition(pod: Pod, podStatus: RuntimePodStatus): PodCondition {
  const status = podSandboxChanged(pod, podStatus).changed ? 'False' : 'True';
  return { type: 'PodReadyToStartContainers', status };
}

/**
 * Only pods with a rule that restarts all containers have this condition. It is True from an exit that this rule is about
 * until the last container has been removed.
 */
function allContainersRestartingCondition(facts: ConditionFacts): readonly PodCondition[] {
  const { pod, podStatus, phase, podRestarting } = facts;
  const { containers, initContainers = [] } = pod.spec;
  if (![...initContainers, ...containers].some(canRestartAll)) return [];
  const type = 'AllContainersRestarting';
  const reason = endReason(phase);
  if (reason) return [{ type, status: 'False', reason }];
  if (podRestarting && podStatus.containers.length > 0) {
    const message = 'container exited with restart policy rule';
    return [{ type, status: 'True', reason: 'RestartAllContainersStarted', message }];
  }
  return [{ type, status: 'False' }];
}

function canRestartAll(container: Container): boolean {
  return container.restartPolicyRules?.some(({ action }) => action === 'RestartAllContainers') ?? false;
}

/** Conditions that others have set, such as those of readiness gates, and DisruptionTarget, which stays once it is set. */
function othersConditions(facts: ConditionFacts): PodCondition[] {
  const { pod, previous, added = [] } = facts;
  const foreign = (pod.status?.conditions ?? []).filter((condition) => !isOwnedByKubelet(condition));
  const disruption = (previous?.conditions ?? []).filter(({ type }) => type === DISRUPTION_TARGET);
  const byType = new Map([...foreign, ...disruption].map((condition) => [condition.type, condition]));
  for (const condition of added) byType.set(condition.type, stamped(facts, condition));
  return [...byType.values()];
}

function stamped({ pod, previous, now }: ConditionFacts, condition: PodCondition): PodCondition {
  const old = previous?.conditions?.find(({ type }) => type === condition.type);
  const unchanged = old?.status === condition.status ? old.lastTransitionTime : undefined;
  const { generation } = pod.metadata;
  return {
    ...condition,
    ...(generation !== undefined && { observedGeneration: generation }),
    lastTransitionTime: unchanged ?? now,
  };
}
