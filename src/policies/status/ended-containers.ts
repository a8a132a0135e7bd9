/**
 * The last word about the containers of a pod that is terminated: whatever began must have ended. Where the runtime does
 * not say how, it counts as a failure; what never began stays waiting.
 */
import type { ContainerStatus, Pod } from '../../types/kubernetes.ts';
import { CONTAINER_STATUS_UNKNOWN, ENDED_UNSEEN, inferredTermination } from './container-state.ts';
import type { ContainerStatuses } from './container-statuses.ts';
import { isRestartableInitContainer } from '../sync/restart.ts';

export function endedContainerStatuses(pod: Pod, statuses: ContainerStatuses): ContainerStatuses {
  const { containerStatuses, initContainerStatuses } = statuses;
  const begun = begunInitContainers(initContainerStatuses);
  return {
    ...statuses,
    initContainerStatuses: initContainerStatuses.map((status, i) => (i < begun ? ended(status) : status)),
    containerStatuses: wasInitialized(pod, statuses) ? containerStatuses.map(ended) : containerStatuses,
  };
}

function ended(status: ContainerStatus): ContainerStatus {
  if (status.state?.terminated) return status;
  const terminated = inferredTermination(CONTAINER_STATUS_UNKNOWN, ENDED_UNSEEN);
  return { ...status, state: { terminated }, ready: false, started: false };
}

/** How many init containers had their turn: up to the last that shows a trace of it, and the first in any case. */
function begunInitContainers(statuses: readonly ContainerStatus[]): number {
  const last = statuses.findLastIndex(({ state, lastState }) => !state?.waiting || lastState?.terminated);
  return Math.max(last, 0) + 1;
}

/** Whether the regular containers may have begun. */
function wasInitialized({ spec }: Pod, statuses: ContainerStatuses): boolean {
  const last = spec.initContainers?.at(-1);
  if (!last || statuses.containerStatuses.some(hasRun)) return true;
  const status = statuses.initContainerStatuses.find(({ name }) => name === last.name);
  if (isRestartableInitContainer(last)) return status?.started === true;
  const { state, lastState } = status ?? {};
  return state?.terminated?.exitCode === 0 || lastState?.terminated?.exitCode === 0;
}

function hasRun({ state, lastState }: ContainerStatus): boolean {
  return [state?.running, state?.terminated, lastState?.terminated].some((trace) => trace !== undefined);
}
