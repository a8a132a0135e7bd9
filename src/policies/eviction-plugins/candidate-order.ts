import type { Pod } from '../../types/kubernetes.ts';
import { isEvictable, knownQosLevel, wantsNotice } from './qos-level.ts';

export interface Candidate {
  readonly pod: Pod;
  /** What it was chosen for: `force`, `memory`, `cpu` or another name. */
  readonly scope: string;
}

const SCOPES = ['force', 'memory', 'cpu'];

/**
 * The most important first. Pods that are not reclaimed come before reclaimed ones, then a higher priority before a lower one and before
 * none, then by scope, then by name, in descending order.
 */
export function inOrderOfImportance<T extends Candidate>(candidates: readonly T[]): readonly T[] {
  return [...candidates].sort(
    (a, b) =>
      reclaimed(a) - reclaimed(b) ||
      priority(b) - priority(a) ||
      scopeRank(a) - scopeRank(b) ||
      compareNames(b.pod, a.pod),
  );
}

/** The one that is to go. Pods that may not go, or that want to be told instead, are passed over. */
export function leastImportant<T extends Candidate>(candidates: readonly T[]): T | undefined {
  return inOrderOfImportance(candidates.filter(({ pod }) => isEvictable(pod) && !wantsNotice(pod))).at(-1);
}

function reclaimed({ pod }: Candidate): number {
  return knownQosLevel(pod) === 'reclaimed_cores' ? 1 : 0;
}

/** The least priority that a pod can have is greater than that of one without any. */
function priority({ pod }: Candidate): number {
  return pod.spec.priority ?? Number.MIN_SAFE_INTEGER;
}

function scopeRank({ scope }: Candidate): number {
  const rank = SCOPES.indexOf(scope);
  return rank < 0 ? SCOPES.length : rank;
}

function compareNames({ metadata: { name: a } }: Pod, { metadata: { name: b } }: Pod): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
