/** Changes of a status that is there: of single conditions, by the result of a probe, by the pod's end, and by a refusal to start it. */
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '../../../types/kubernetes.ts';
import type { Rejection } from '../admission/rejection.ts';
import { only, without } from '../formats/canonical-json.ts';
import { isStaticPod } from '../pod/pod-kinds.ts';
import { podQOS } from '../pod/qos.ts';
import { isRestartableInitContainer } from '../pod-actions/restart.ts';
import { isTerminalPhase } from '../termination/pod-termination.ts';
import { CONTAINER_STATUS_UNKNOWN, ENDED_UNSEEN, inferredTermination } from './container-state.ts';
import { containersReadyCondition, podReadyCondition } from './pod-conditions.ts';

/** In place of the condition of that type, or behind all others. */
export function withCondition(status: PodStatus, condition: PodCondition): PodStatus {
  const { conditions = [] } = status;
  const place = conditions.findIndex(({ type }) => type === condition.type);
  return {
    ...status,
    conditions: place < 0 ? [...conditions, condition] : conditions.with(place, condition),
  };
}

/** The generation of the pod's spec that its conditions are about. */
export function observedBy({ metadata: { generation } }: Pod): Pick<PodCondition, 'observedGeneration'> {
  return generation === undefined ? {} : { observedGeneration: generation };
}

/** The sandbox of the pod stands, with its network: containers can be started in it. */
export function withSandboxReady(pod: Pod, status: PodStatus): PodStatus {
  return withCondition(status, { type: 'PodReadyToStartContainers', ...observedBy(pod), status: 'True' });
}

/** The conditions of these types get a new transition time where their status changes, and keep the old one otherwise. */
export function withTransitionTimes(
  status: PodStatus,
  former: PodStatus,
  types: readonly string[],
  now: string,
): PodStatus {
  const { conditions } = status;
  if (conditions === undefined) return status;
  return {
    ...status,
    conditions: conditions.map((condition, i) => {
      const { type } = condition;
      const isFirst = conditions.findIndex((other) => other.type === type) === i;
      if (!isFirst || !types.includes(type)) return condition;
      const old = former.conditions?.find((other) => other.type === type);
      if (old?.status !== condition.status) return { ...condition, lastTransitionTime: now };
      if (old.lastTransitionTime === condition.lastTransitionTime) return condition;
      return { ...without(condition, ['lastTransitionTime']), ...only(old, ['lastTransitionTime']) };
    }),
  };
}

/** Undefined where the status does not know the container, or says so already. */
export function withContainerReadiness(
  pod: Pod,
  status: PodStatus,
  containerID: string,
  ready: boolean,
): PodStatus | undefined {
  const found = containerOf(status, containerID);
  if (found === undefined || found.ready === ready) return undefined;
  const changed = withContainer(status, { ...found, ready });
  const { conditions = [], phase = '' } = changed;
  const statuses = [...(changed.initContainerStatuses ?? []), ...(changed.containerStatuses ?? [])];
  return [
    podReadyCondition(pod, conditions, statuses, phase),
    containersReadyCondition(pod, statuses, phase),
  ].reduce((result, condition) => withCondition(result, { ...condition, ...observedBy(pod) }), changed);
}

/** Undefined where the status does not know the container, or says so already. */
export function withContainerStartup(
  status: PodStatus,
  containerID: string,
  started: boolean,
): PodStatus | undefined {
  const found = containerOf(status, containerID);
  if (found === undefined || found.started === started) return undefined;
  return withContainer(status, { ...found, started });
}

/** Whether the readiness gates of the pod change its condition Ready: others have written into its status. */
export function needsReadinessSync({ spec, status = {}, ...pod }: Pod): boolean {
  if ((spec.readinessGates ?? []).length === 0) return false;
  const { conditions = [], containerStatuses = [], initContainerStatuses = [], phase = '' } = status;
  const shown = conditions.find(({ type }) => type === 'Ready');
  if (shown === undefined) return false;
  const statuses = [...initContainerStatuses, ...containerStatuses];
  const known = statuses.length === 0 ? undefined : statuses;
  const wanted = podReadyCondition({ ...pod, spec }, conditions, known, phase);
  return shown.status !== wanted.status || (shown.message ?? '') !== (wanted.message ?? '');
}

function containerOf(status: PodStatus, containerID: string): ContainerStatus | undefined {
  const all = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  return all.find((container) => container.containerID === containerID);
}

function withContainer(status: PodStatus, changed: ContainerStatus): PodStatus {
  const replaced = (statuses: readonly ContainerStatus[]) =>
    statuses.map((one) => (one.containerID === changed.containerID ? changed : one));
  const { containerStatuses, initContainerStatuses } = status;
  return {
    ...status,
    ...(containerStatuses && { containerStatuses: replaced(containerStatuses) }),
    ...(initContainerStatuses && { initContainerStatuses: replaced(initContainerStatuses) }),
  };
}

/**
 * Containers whose end was not seen have failed; regular ones only where they may have been started. A phase that is not terminal
 * becomes Failed, but for static pods: their source decides whether they run again.
 */
export function terminatedStatus(pod: Pod, status: PodStatus): PodStatus {
  const { containerStatuses, initContainerStatuses } = status;
  const started = startedInitContainers(initContainerStatuses ?? []);
  const isOver = isTerminalPhase(status.phase) || isStaticPod(pod);
  return {
    ...status,
    ...(containerStatuses && hasPodInitialized(pod) && { containerStatuses: containerStatuses.map(ended) }),
    ...(initContainerStatuses && {
      initContainerStatuses: initContainerStatuses.map((one, i) => (i < started ? ended(one) : one)),
    }),
    ...(!isOver && { phase: 'Failed' }),
  };
}

/** Whether regular containers may have been started, by the status in the pod's object. */
export function hasPodInitialized({ spec, status = {} }: Pod): boolean {
  const { initContainers = [] } = spec;
  if (initContainers.length === 0) return true;
  if (
    status.containerStatuses?.some(
      ({ state, lastState }) => lastState?.terminated != null || state?.waiting == null,
    )
  ) {
    return true;
  }
  const statuses = status.initContainerStatuses ?? [];
  const last = statuses.at(-1);
  const container = initContainers[statuses.length - 1];
  if (last === undefined || container?.name !== last.name) return false;
  if (isRestartableInitContainer(container)) return last.state?.running != null && last.started === true;
  return last.lastState?.terminated?.exitCode === 0 || last.state?.terminated?.exitCode === 0;
}

function ended(status: ContainerStatus): ContainerStatus {
  if (status.state?.terminated != null) return status;
  return { ...status, state: { terminated: inferredTermination(CONTAINER_STATUS_UNKNOWN, ENDED_UNSEEN) } };
}

/** The first init container in any case, and all up to the last that has ever been started. */
function startedInitContainers(statuses: readonly ContainerStatus[]): number {
  const last = statuses.findLastIndex(
    ({ state, lastState }) => state?.waiting == null || lastState?.terminated != null,
  );
  return Math.max(last, 0) + 1;
}

// Statuses of pods that have not been started, with the reason. They list no containers, because none was created.

/** The pod was rejected for good, at `startTime` (RFC 3339). As with the kubelet, the status has no conditions. */
export function rejectedPodStatus(pod: Pod, rejection: Rejection, startTime: string): PodStatus {
  return { ...commonFields(pod), ...rejectedAs(rejection), startTime };
}

/** What a rejection changes in the status of a pod. */
export function rejectedAs({ reason, message }: Rejection) {
  return { phase: 'Failed', reason, message: `Pod was rejected: ${message}` } as const;
}

/** The pod waits until the node has resources for it. It has no start time, so its deadline has not begun. */
export function waitingPodStatus(pod: Pod, { reason, message }: Rejection): PodStatus {
  return { ...commonFields(pod), phase: 'Pending', reason, message };
}

/** The pod has been admitted after it waited, and begins as any other pod. */
export function admittedPodStatus(pod: Pod): PodStatus {
  return { ...commonFields(pod), phase: 'Pending' };
}

function commonFields(pod: Pod): PodStatus {
  const { generation } = pod.metadata;
  return { ...(generation !== undefined && { observedGeneration: generation }), qosClass: podQOS(pod) };
}
