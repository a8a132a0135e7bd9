/** The conditions ContainersReady, Ready and Initialized, computed from a pod's container statuses. */
import type { Container, ContainerStatus, Pod, PodCondition } from '../../types/kubernetes.ts';
import { named } from '../pod/named.ts';
import { isRestartableInitContainer } from '../sync/restart.ts';

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
