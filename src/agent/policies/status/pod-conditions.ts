/** The conditions in a pod's status: the kubelet's own, and those that others have set, which it does not change. */
import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from '../../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { named } from '../formats/lookups.ts';
import { podSandboxChanged } from '../pod-actions/pod-actions.ts';
import { isRestartableInitContainer } from '../pod-actions/restart.ts';

export interface ConditionFacts {
  readonly pod: Pod;
  readonly podStatus: RuntimePodStatus;
  /** The status that was reported last. */
  readonly previous: PodStatus | undefined;
  readonly phase: string;
  /** The statuses of init and regular containers. */
  readonly containerStatuses: readonly ContainerStatus[];
  readonly podRestarting: boolean;
  /** How far a change of the pod's resources has come. */
  readonly resize?: readonly PodCondition[];
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
  return [...others, ...(facts.resize ?? []), ...own.map((condition) => stamped(facts, condition))];
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

/** Set on a pod that something else ends: by the kubelet for an eviction or preemption, by controllers for their disruptions. */
export const DISRUPTION_TARGET = 'DisruptionTarget';

const KUBELET_CONDITIONS: ReadonlySet<string> = new Set([
  'PodReadyToStartContainers',
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  'AllContainersRestarting',
  'PodResizePending',
  'PodResizeInProgress',
]);

/** Whether the node alone sets this condition. */
export function isOwnedByKubelet({ type }: { readonly type: string }): boolean {
  return KUBELET_CONDITIONS.has(type);
}

/** The statuses of init and regular containers; undefined where nothing is known about them. */
type KnownStatuses = readonly ContainerStatus[] | undefined;

/** Why a condition of a pod that has ended is False. */
export function endReason(phase: string): 'PodCompleted' | 'PodFailed' | undefined {
  if (phase === 'Succeeded') return 'PodCompleted';
  return phase === 'Failed' ? 'PodFailed' : undefined;
}

/** Whether all regular containers and sidecars are ready. */
export function containersReadyCondition(pod: Pod, statuses: KnownStatuses, phase: string): PodCondition {
  const type = 'ContainersReady';
  if (!statuses) return { type, status: 'False', reason: 'UnknownContainerStatuses' };
  const { containers, initContainers = [] } = pod.spec;
  const watched = [...initContainers.filter(isRestartableInitContainer), ...containers];
  const unknown = watched.filter((container) => !find(statuses, container));
  const unready = watched.filter((container) => find(statuses, container)?.ready === false);
  const isOver = phase === 'Failed' || (phase === 'Succeeded' && unknown.length === 0);
  if (isOver) return { type, status: 'False', reason: endReason(phase) };
  const message = joined([listed('unknown', unknown), listed('unready', unready)]);
  if (message) return { type, status: 'False', reason: 'ContainersNotReady', message };
  return { type, status: 'True' };
}

/** As ContainersReady; besides, the pod's readiness gates have to be True among `conditions`. */
export function podReadyCondition(
  pod: Pod,
  conditions: readonly PodCondition[],
  statuses: KnownStatuses,
  phase: string,
): PodCondition {
  const type = 'Ready';
  const containersReady = containersReadyCondition(pod, statuses, phase);
  if (containersReady.status !== 'True') return { ...containersReady, type };
  const gates = pod.spec.readinessGates ?? [];
  const message = joined(gates.map(({ conditionType }) => closedGate(conditions, conditionType)));
  if (message) return { type, status: 'False', reason: 'ReadinessGatesNotReady', message };
  return { type, status: 'True' };
}

function closedGate(conditions: readonly PodCondition[], type: string): string | undefined {
  const condition = conditions.find((candidate) => candidate.type === type);
  if (!condition) return `corresponding condition of pod readiness gate "${type}" does not exist.`;
  if (condition.status === 'True') return undefined;
  return `the status of pod readiness gate "${type}" is not "True", but ${condition.status}`;
}

/** Whether the init containers are done. `old`: the conditions that were reported before. Once True, always True. */
export function podInitializedCondition(
  pod: Pod,
  old: readonly PodCondition[],
  statuses: KnownStatuses,
  phase: string,
): PodCondition {
  const type = 'Initialized';
  const initContainers = pod.spec.initContainers ?? [];
  if (!statuses && initContainers.length > 0) {
    return { type, status: 'False', reason: 'UnknownContainerStatuses' };
  }
  const known = statuses ?? [];
  const unknown = initContainers.filter((container) => !find(known, container));
  if (phase === 'Succeeded' && unknown.length === 0) return { type, status: 'True', reason: 'PodCompleted' };
  const before = old.some((condition) => condition.type === type && condition.status === 'True');
  if (before || hasAnyRegularContainerStarted(pod, known)) return { type, status: 'True' };
  const incomplete = initContainers.filter((container) => isIncomplete(container, find(known, container)));
  const message = joined([listed('unknown', unknown), listed('incomplete', incomplete)]);
  if (message) return { type, status: 'False', reason: 'ContainersNotInitialized', message };
  return { type, status: 'True' };
}

/** Whether one runs or has ended. A container that waits to be started again does not count. */
function hasAnyRegularContainerStarted(pod: Pod, statuses: readonly ContainerStatus[]): boolean {
  const regular = new Set(pod.spec.containers.map(({ name }) => name));
  return statuses.some(
    ({ name, state }) => regular.has(name) && (state?.running != null || state?.terminated != null),
  );
}

/** A sidecar is done when it has started; any other init container when it is ready, that is, has succeeded. */
function isIncomplete(container: Container, status: ContainerStatus | undefined): boolean {
  if (!status) return false;
  return isRestartableInitContainer(container) ? status.started !== true : !status.ready;
}

function find(statuses: readonly ContainerStatus[], { name }: Container): ContainerStatus | undefined {
  return named(statuses, name);
}

/** Undefined where there are no containers to list. */
function listed(what: string, containers: readonly Container[]): string | undefined {
  if (containers.length === 0) return undefined;
  return `containers with ${what} status: [${containers.map(({ name }) => name).join(' ')}]`;
}

function joined(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined).join(', ');
}
