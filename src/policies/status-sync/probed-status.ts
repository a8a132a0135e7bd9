/** A status with the result of a probe in it, and what follows from that. */
import type { ContainerStatus, Pod, PodStatus } from '../../types/kubernetes.ts';
import { containersReadyCondition, podReadyCondition } from '../status/readiness-conditions.ts';
import { observedBy, withCondition } from './single-conditions.ts';

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
