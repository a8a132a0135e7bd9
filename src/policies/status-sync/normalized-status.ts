/** A status in the form in which it is compared and sent: its order does not depend on the runtime, its messages have a limit. */
import type { ContainerStatus, Pod, PodStatus } from '../../types/kubernetes.ts';
import { withShortMessages } from '../status/pod-status.ts';

export function normalizedStatus(pod: Pod, status: PodStatus): PodStatus {
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status;
  return withShortMessages(pod, {
    ...status,
    ...(containerStatuses && { containerStatuses: containerStatuses.toSorted(byName) }),
    ...(initContainerStatuses && { initContainerStatuses: inSpecOrder(pod, initContainerStatuses) }),
    ...(ephemeralContainerStatuses && {
      ephemeralContainerStatuses: ephemeralContainerStatuses.toSorted(byName),
    }),
  });
}

function byName(a: ContainerStatus, b: ContainerStatus): number {
  if (a.name === b.name) return 0;
  return a.name < b.name ? -1 : 1;
}

/** As the kubelet does it: each container of the spec changes places with what stands where it belongs. */
function inSpecOrder({ spec }: Pod, statuses: readonly ContainerStatus[]): ContainerStatus[] {
  const ordered = [...statuses];
  let place = 0;
  for (const { name } of spec.initContainers ?? []) {
    const from = ordered.findIndex((status, i) => i >= place && status.name === name);
    const [found, standing] = [ordered[from], ordered[place]];
    if (found === undefined || standing === undefined) continue;
    ordered[from] = standing;
    ordered[place] = found;
    place += 1;
  }
  return ordered;
}
