/** What an agent remembers of containers, because no runtime does: completed hooks, and results of probes. */
import type { Container, Pod, PodStatus } from '../../types/kubernetes.ts';
import type { KnownContainer, RuntimeContainerStatus, RuntimePodStatus } from '../../types/runtime-pod.ts';

/**
 * Marks the containers that run and whose postStart hook has not completed: the agent that had started them died before. Containers
 * whose agent did not remember completed hooks (the kubelet, an earlier version) count as completed.
 */
export function withOwedHooks(
  podStatus: RuntimePodStatus,
  known: (containerId: string) => KnownContainer | undefined,
): RuntimePodStatus {
  if (!podStatus.containers.some(recordsHook)) return podStatus;
  const containers = podStatus.containers.map((container): RuntimeContainerStatus =>
    recordsHook(container) && known(container.id)?.hooked !== true
      ? { ...container, owesHook: true }
      : container,
  );
  return { ...podStatus, containers };
}

/** Whether it runs, and its agent remembers when its hook has completed. */
export function recordsHook({ state, recordsHook }: RuntimeContainerStatus): boolean {
  return state === 'running' && recordsHook === true;
}

export function hasProbedContainers({ spec }: Pod): boolean {
  return [...spec.containers, ...(spec.initContainers ?? [])].some(isProbed);
}

interface ProbedContainer {
  /** Of the runtime. */
  readonly containerId: string;
  readonly known: KnownContainer;
}

/** What the status says of the containers that run and have a startup or a readiness probe. */
export function probedContainers({ spec }: Pod, status: PodStatus): readonly ProbedContainer[] {
  const { containerStatuses = [], initContainerStatuses = [] } = status;
  return [...spec.containers, ...(spec.initContainers ?? [])].filter(isProbed).flatMap((container) => {
    const shown = [...containerStatuses, ...initContainerStatuses].find(
      ({ name }) => name === container.name,
    );
    if (shown?.state?.running === undefined || shown.containerID === undefined) return [];
    const containerId = shown.containerID.replace(/^[^:]*:\/\//, '');
    return [{ containerId, known: { started: shown.started === true, ready: shown.ready } }];
  });
}

function isProbed({ startupProbe, readinessProbe }: Container): boolean {
  return startupProbe != null || readinessProbe != null;
}
