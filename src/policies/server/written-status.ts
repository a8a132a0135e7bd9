/** The status of a pod with the members that Go writes although they are empty. */
import type { PodStatus } from '../../types/kubernetes.ts';

const CONTAINER_LISTS = ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const;

export function asGoWrites(status: PodStatus): object {
  const { conditions } = status;
  const lists = CONTAINER_LISTS.flatMap((name) => {
    const containers = status[name];
    return containers === undefined
      ? []
      : [[name, containers.map((container) => ({ state: {}, lastState: {}, ...container }))] as const];
  });
  return {
    ...status,
    ...(conditions && {
      conditions: conditions.map((condition) => ({
        lastProbeTime: null,
        lastTransitionTime: null,
        ...condition,
      })),
    }),
    ...Object.fromEntries(lists),
  };
}
