/** How far a pod has come: its phase, computed from its container statuses, and when its start is over. */
import type { Container, ContainerStatus, Pod, PodPhase, PodStatus } from '../../../types/kubernetes.ts';
import { named } from '../formats/lookups.ts';
import { isManifestPod, isStaticPod } from '../pod/pod-kinds.ts';
import { containerShouldRestart, isRestartableInitContainer } from '../pod-actions/restart.ts';

/** The reason of a container that was removed because all containers of its pod start over. */
export const RESTARTING_ALL_CONTAINERS = 'RestartingAllContainers';

/** How far a container has come. A container that waits to be started again counts as stopped, not as waiting. */
type Progress =
  | { readonly at: 'unknown' | 'waiting' }
  | { readonly at: 'running'; readonly started: boolean }
  | {
      readonly at: 'stopped';
      readonly exitCode: number;
      /** It ended with 0, and does not wait to be started again. */
      readonly succeeded: boolean;
      readonly willRestart: boolean;
    };

/**
 * `statuses`: of init and regular containers. `podIsTerminal`: no container will be started again, whatever the restart
 * policies say. `podHasInitialized`: a regular container has been started before.
 */
export function podPhase(
  pod: Pod,
  statuses: readonly ContainerStatus[],
  podIsTerminal: boolean,
  podHasInitialized: boolean,
): PodPhase {
  const progress = (container: Container) => containerProgress(pod, container, statuses);
  const initContainers = pod.spec.initContainers ?? [];
  const init = initContainers.filter((container) => !isRestartableInitContainer(container)).map(progress);
  const sidecars = initContainers.filter(isRestartableInitContainer).map(progress);
  const regular = pod.spec.containers.map(progress);

  if (init.some(hasFailedForGood)) return 'Failed';
  if (init.some((container) => container.at !== 'stopped')) return 'Pending';
  if (!podHasInitialized && sidecars.some(isStarting)) return 'Pending';
  return phaseOfInitialized(sidecars, regular, podIsTerminal && !isStaticPod(pod));
}

/** Sidecars that have stopped do not count for the phase: it depends on the regular containers. */
function phaseOfInitialized(
  sidecars: readonly Progress[],
  regular: readonly Progress[],
  isTerminal: boolean,
): PodPhase {
  const all = [...sidecars, ...regular];
  if (all.some(({ at }) => at === 'waiting' || at === 'unknown')) return 'Pending';
  if (all.some(({ at }) => at === 'running')) return 'Running';
  const stopped = regular.filter((container) => container.at === 'stopped');
  if (stopped.length === 0) return 'Pending';
  if (!isTerminal && stopped.some(({ willRestart }) => willRestart)) return 'Running';
  return stopped.every(({ succeeded }) => succeeded) ? 'Succeeded' : 'Failed';
}

function containerProgress(pod: Pod, container: Container, statuses: readonly ContainerStatus[]): Progress {
  const status = named(statuses, container.name);
  const state = status?.state;
  if (state?.running) return { at: 'running', started: status?.started === true };
  const end = state?.terminated ?? (state?.waiting && status?.lastState?.terminated);
  if (end) {
    return {
      at: 'stopped',
      exitCode: end.exitCode,
      succeeded: state?.terminated?.exitCode === 0,
      willRestart:
        end.reason === RESTARTING_ALL_CONTAINERS || containerShouldRestart(pod, container, end.exitCode),
    };
  }
  return { at: state?.waiting ? 'waiting' : 'unknown' };
}

function hasFailedForGood(container: Progress): boolean {
  return container.at === 'stopped' && container.exitCode !== 0 && !container.willRestart;
}

function isStarting(container: Progress): boolean {
  return container.at !== 'stopped' && !(container.at === 'running' && container.started);
}

// Which pods' start is measured, and when it is over, by the definition of the kubelet's start latency.

const STATELESS = ['secret', 'configMap', 'downwardAPI', 'emptyDir', 'projected'] as const;

/** A pod of the API server that no node has begun, and that did not have to wait for the scheduler. */
export function isStartAwaited(pod: Pod): boolean {
  const { startTime, conditions = [] } = pod.status ?? {};
  const isUnscheduled = conditions.some(({ type, status }) => type === 'PodScheduled' && status === 'False');
  return !isManifestPod(pod) && startTime === undefined && !isUnscheduled;
}

export function allContainersRun({ containerStatuses = [] }: PodStatus): boolean {
  return containerStatuses.length > 0 && containerStatuses.every(({ state }) => state?.running?.startedAt);
}

/** It has a volume of a kind that outlives a pod. */
export function isStateful({ spec: { volumes = [] } }: Pod): boolean {
  return volumes.some((volume) => STATELESS.every((kind) => volume[kind] === undefined));
}
