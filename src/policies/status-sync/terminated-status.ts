/** The last status of a pod of which nothing can run any more. */
import type { ContainerStatus, Pod, PodStatus } from '../../types/kubernetes.ts';
import { isStaticPod } from '../pod/pod-kinds.ts';
import { CONTAINER_STATUS_UNKNOWN, ENDED_UNSEEN, inferredTermination } from '../status/container-state.ts';
import { isRestartableInitContainer } from '../sync/restart.ts';
import { isTerminalPhase } from '../sync/pod-termination.ts';

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
