/**
 * The final container statuses of a terminated pod. Every container that was started must have ended; if the runtime does
 * not say how, it counts as failed. A container that was never started stays waiting.
 */
import type { ContainerStatus, Pod } from '../../types/kubernetes.ts';
import { CONTAINER_STATUS_UNKNOWN, ENDED_UNSEEN, inferredTermination } from './container-state.ts';
import type { ContainerStatuses } from './container-statuses.ts';
import { isRestartableInitContainer } from '../sync/restart.ts';

export function endedContainerStatuses(pod: Pod, statuses: ContainerStatuses): ContainerStatuses {
  const { containerStatuses, initContainerStatuses } = statuses;
  const started = startedInitContainers(initContainerStatuses);
  return {
    ...statuses,
    initContainerStatuses: initContainerStatuses.map((status, i) => (i < started ? ended(status) : status)),
    containerStatuses: wasInitialized(pod, statuses) ? containerStatuses.map(ended) : containerStatuses,
  };
}

function ended(status: ContainerStatus): ContainerStatus {
  if (status.state?.terminated) return status;
  const terminated = inferredTermination(CONTAINER_STATUS_UNKNOWN, ENDED_UNSEEN);
  return { ...status, state: { terminated }, ready: false, started: false };
}

/** How many init containers have been started: the first in any case, and all up to the last that has run. */
function startedInitContainers(statuses: readonly ContainerStatus[]): number {
  const last = statuses.findLastIndex(({ state, lastState }) => !state?.waiting || lastState?.terminated);
  return Math.max(last, 0) + 1;
}

/** Whether regular containers may have been started. */
function wasInitialized({ spec }: Pod, statuses: ContainerStatuses): boolean {
  const last = spec.initContainers?.at(-1);
  if (!last || statuses.containerStatuses.some(hasRun)) return true;
  const status = statuses.initContainerStatuses.find(({ name }) => name === last.name);
  if (isRestartableInitContainer(last)) return status?.started === true;
  const { state, lastState } = status ?? {};
  return state?.terminated?.exitCode === 0 || lastState?.terminated?.exitCode === 0;
}

function hasRun({ state, lastState }: ContainerStatus): boolean {
  return [state?.running, state?.terminated, lastState?.terminated].some((part) => part !== undefined);
}
