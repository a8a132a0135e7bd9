/** Which pods end together while the node shuts down. */
import type { Pod } from '../../types/kubernetes.ts';
import type { ShutdownPeriod } from '../../types/shutdown-settings.ts';

export interface ShutdownGroup extends ShutdownPeriod {
  /** In the order in which they were given. */
  readonly pods: readonly Pod[];
}

/**
 * One group for each period, in the order of the periods. A pod belongs to the highest period that is not above its priority; one with
 * a priority below all periods belongs to the lowest.
 */
export function groupByPriority(
  periods: readonly ShutdownPeriod[],
  pods: readonly Pod[],
): readonly ShutdownGroup[] {
  const groups = periods.map((period) => ({ ...period, pods: [] as Pod[] }));
  for (const pod of pods) {
    const priority = pod.spec.priority ?? 0;
    const group = groups.findLast((one) => one.priority <= priority) ?? groups[0];
    group?.pods.push(pod);
  }
  return groups;
}
