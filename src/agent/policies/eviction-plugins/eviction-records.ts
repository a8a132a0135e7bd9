/** The records of candidates that plugins get with a threshold: their disruption budgets, and what was evicted of their owners here. */
import type { EvictionBucket, EvictionRecord } from '../../../types/eviction-plugin.ts';
import type { LabelSelector, Pod } from '../../../types/kubernetes.ts';
import { matchesSelector } from '../volumes/object-files.ts';

/** What is read of a PodDisruptionBudget of `policy/v1`. */
export interface DisruptionBudget {
  readonly metadata?: { readonly namespace?: string; readonly name?: string };
  readonly spec?: { readonly selector?: LabelSelector };
  readonly status?: {
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly expectedPods?: number;
  };
}

/** A pod that was ended for a plugin. */
export interface PastEviction {
  readonly owner: string;
  readonly atMs: number;
}

export const HISTORY_MS = 60 * 60_000;
const BUCKET_SECONDS = 600;

/** The controller of the pod; without one, the pod is its own. */
export function ownerOf({ metadata: { uid, ownerReferences = [] } }: Pod): string {
  return ownerReferences.find(({ controller }) => controller === true)?.uid ?? uid;
}

/** `budgets`: those of the pod's namespace. */
export function evictionRecord(
  pod: Pod,
  budgets: readonly DisruptionBudget[],
  history: readonly PastEviction[],
): EvictionRecord {
  const budget = budgets.find(({ spec }) => matchesSelector(spec?.selector, pod.metadata.labels));
  const {
    disruptionsAllowed = 0,
    currentHealthy = 0,
    desiredHealthy = 0,
    expectedPods = 0,
  } = budget?.status ?? {};
  const owner = ownerOf(pod);
  return {
    disruptionsAllowed,
    currentHealthy,
    desiredHealthy,
    expectedPods,
    uid: pod.metadata.uid,
    hasPdb: budget !== undefined,
    buckets: bucketsOf(history.filter((past) => past.owner === owner)),
  };
}

/** Each of ten minutes, the first one first; those in which nothing was evicted are left out. */
function bucketsOf(history: readonly PastEviction[]): readonly EvictionBucket[] {
  const counts = new Map<number, number>();
  for (const { atMs } of history) {
    const time = Math.floor(atMs / 1000 / BUCKET_SECONDS) * BUCKET_SECONDS;
    counts.set(time, (counts.get(time) ?? 0) + 1);
  }
  const inOrder = [...counts].sort(([a], [b]) => a - b);
  return inOrder.map(([time, count]) => ({ time, duration: BUCKET_SECONDS, count }));
}
