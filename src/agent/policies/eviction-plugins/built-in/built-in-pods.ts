/** What built-in eviction plugins ask of a pod, and in which order pods go. */
import type { MemoryGraceSettings } from '../../../../types/built-in-thresholds.ts';
import type { NumaNodesOfPods } from '../../../../types/eviction-plugin.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import { wholeQuantity } from '../../eviction/observations.ts';
import { isObject, parsedJson } from '../../formats/json-values.ts';
import { formatQuantity } from '../../formats/quantity.ts';
import { isEvictable, knownQosLevel } from '../qos-level.ts';

/** Katalyst's names of what pods of `reclaimed_cores` request: processor time, and memory, that others leave unused. */
export const RECLAIMED_MILLICPU = 'resource.katalyst.kubewharf.io/reclaimed_millicpu';
export const RECLAIMED_MEMORY = 'resource.katalyst.kubewharf.io/reclaimed_memory';
const NUMA_BIND_RESULT = 'katalyst.kubewharf.io/numa_bind_result';

/** Which pods may go. */
export type Reach = 'reclaimed' | 'any';

/**
 * The pods that may go, in the order in which they do: reclaimed ones before others, then a lower priority before a higher one, then more
 * use before less. A pod that is not measured comes before those that are.
 */
export function victimsByUse(
  pods: readonly Pod[],
  reach: Reach,
  usedIn: (pod: Pod) => number | undefined,
): readonly Pod[] {
  const candidates = pods.filter((pod) => isEvictable(pod) && (reach === 'any' || isReclaimed(pod)));
  const ranked = candidates.map((pod) => ({ pod, used: usedIn(pod) ?? Infinity }));
  ranked.sort((a, b) => byImportance(a.pod, b.pod) || compare(b.used, a.used));
  return ranked.map(({ pod }) => pod);
}

/** Undefined: the pods' own. */
export function memoryGracePeriod(reach: Reach, settings: MemoryGraceSettings): number | undefined {
  return gracePeriodOf(reach === 'any' ? settings.gracePeriodSeconds : settings.reclaimedGracePeriodSeconds);
}

/** As the settings say it. Undefined: the pod's own. */
export function gracePeriodOf(seconds: number): number | undefined {
  return seconds < 0 ? undefined : seconds;
}

export function isReclaimed(pod: Pod): boolean {
  return knownQosLevel(pod) === 'reclaimed_cores';
}

/** Reclaimed pods before others, then a lower priority before a higher one. */
export function byImportance(a: Pod, b: Pod): number {
  return Number(isReclaimed(b)) - Number(isReclaimed(a)) || priority(a) - priority(b);
}

/** The NUMA node that the pod says it is bound to, or on which alone it has CPUs. */
export function boundNumaNode(
  { metadata: { uid, annotations } }: Pod,
  numaNodes: NumaNodesOfPods,
): number | undefined {
  const named = annotations?.[NUMA_BIND_RESULT];
  return named !== undefined && /^\d{1,4}$/u.test(named) ? Number(named) : numaNodes.get(uid);
}

/**
 * A number that the pod names in one of Katalyst's annotations, which are objects in JSON whose values are texts. Undefined if the pod names
 * none; NaN if it cannot be read.
 */
export function enhancementNumber(
  { metadata: { annotations } }: Pod,
  annotation: string,
  name: string,
): number | undefined {
  const text = annotations?.[annotation];
  if (text === undefined) return undefined;
  const object = parsedJson(text);
  const value = isObject(object) ? object[name] : NaN;
  if (value === undefined) return undefined;
  return typeof value === 'string' ? Number(value) : NaN;
}

export function bytesText(bytes: number): string {
  return formatQuantity(wholeQuantity(BigInt(Math.trunc(bytes)), 'BinarySI'));
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** None is lower than any. */
function priority({ spec }: Pod): number {
  return spec.priority ?? Number.MIN_SAFE_INTEGER;
}

/** Two infinite numbers have no difference. */
function compare(a: number, b: number): number {
  return a === b ? 0 : a - b;
}
