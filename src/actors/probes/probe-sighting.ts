import type { SeenContainer, Sighting } from '../../policies/probes/probe.ts';
import type { KnownContainer } from '../../types/runtime-pod.ts';
import type { ContainerStatus, PodStatus } from '../../types/kubernetes.ts';

/** What a probe needs to know of its container, from the status of the pod. */
export function sightingOf(
  status: PodStatus | undefined,
  containerName: string,
  knownContainer: (containerId: string) => KnownContainer | undefined = () => undefined,
): Sighting | undefined {
  if (status === undefined) return undefined;
  const { phase, containerStatuses = [], initContainerStatuses = [] } = status;
  const container = [...containerStatuses, ...initContainerStatuses].find(
    ({ name, containerID }) => name === containerName && containerID,
  );
  if (container === undefined) return { phase, container };
  const seen = seenContainer(container);
  const known = knownContainer(seen.id);
  return { phase, container: known ? { ...seen, known } : seen };
}

function seenContainer({ containerID = '', started = false, state }: ContainerStatus): SeenContainer {
  const common = { id: containerID.replace(/^[^:]*:\/\//u, ''), started };
  if (state?.running) {
    return { ...common, state: 'running', startedAt: Date.parse(state.running.startedAt ?? '') || 0 };
  }
  if (state?.terminated) return { ...common, state: 'terminated', exitCode: state.terminated.exitCode };
  return { ...common, state: 'waiting' };
}
