import type { Pod } from '../../../types/kubernetes.ts';
import { isEvictable, knownQosLevel } from '../qos-level.ts';
import type { BuiltInSettings } from './built-in-settings.ts';

/** Which pods may go because memory is short. */
export type Reach = 'reclaimed' | 'any';

/**
 * The pods that may go, in the order in which they do: reclaimed ones before others, then a lower priority before a higher one, then more
 * memory before less. A pod that is not measured comes before those that are.
 */
export function memoryVictims(
  pods: readonly Pod[],
  reach: Reach,
  usedBytes: (pod: Pod) => number | undefined,
): readonly Pod[] {
  const candidates = pods.filter((pod) => isEvictable(pod) && (reach === 'any' || isReclaimed(pod)));
  const ranked = candidates.map((pod) => ({ pod, bytes: usedBytes(pod) ?? Infinity }));
  ranked.sort(
    (a, b) =>
      Number(isReclaimed(b.pod)) - Number(isReclaimed(a.pod)) ||
      priority(a.pod) - priority(b.pod) ||
      compare(b.bytes, a.bytes),
  );
  return ranked.map(({ pod }) => pod);
}

/** Undefined: the pods' own. */
export function victimGracePeriod(
  reach: Reach,
  settings: Pick<BuiltInSettings, 'gracePeriodSeconds' | 'reclaimedGracePeriodSeconds'>,
): number | undefined {
  return reach === 'any' ? settings.gracePeriodSeconds : settings.reclaimedGracePeriodSeconds;
}

export function isReclaimed(pod: Pod): boolean {
  return knownQosLevel(pod) === 'reclaimed_cores';
}

/** None is lower than any. */
function priority({ spec }: Pod): number {
  return spec.priority ?? Number.MIN_SAFE_INTEGER;
}

/** Two infinite numbers have no difference. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a - b;
}
