/** The order in which deferred resizes are tried. */
import type { Pod } from '../../../types/kubernetes.ts';
import { podQOS } from '../pod/qos.ts';
import { increasesRequests } from './allocation.ts';

export interface PendingResize {
  readonly desired: Pod;
  readonly allocated: Pod;
  /** RFC 3339: the transition time of the condition PodResizePending; undefined without one. */
  readonly since: string | undefined;
}

/**
 * First the resizes that raise no request, then those of pods of higher priority, of Guaranteed pods, and those that have waited
 * longest. The kubelet's comparison contradicts itself for two resizes that raise no request: each comes before the other. So
 * this does what Go's sort does, an insertion sort for up to twelve entries.
 */
export function sortPendingResizes(pending: readonly PendingResize[]): readonly PendingResize[] {
  const sorted: Ranked[] = [];
  for (const resize of pending) {
    const entry = ranked(resize);
    const before = sorted.findLastIndex((other) => !comesBefore(entry, other));
    sorted.splice(before + 1, 0, entry);
  }
  return sorted.map(({ resize }) => resize);
}

interface Ranked {
  readonly resize: PendingResize;
  readonly increases: boolean;
  readonly priority: number;
  readonly isGuaranteed: boolean;
}

function ranked(resize: PendingResize): Ranked {
  const { desired, allocated } = resize;
  return {
    resize,
    increases: increasesRequests(desired, allocated),
    priority: desired.spec.priority ?? 0,
    isGuaranteed: podQOS(desired) === 'Guaranteed',
  };
}

function comesBefore(one: Ranked, other: Ranked): boolean {
  if (!one.increases) return true;
  if (!other.increases) return false;
  if (one.priority !== other.priority) return one.priority > other.priority;
  if (one.isGuaranteed !== other.isGuaranteed) return one.isGuaranteed;
  const [since, otherSince] = [one.resize.since, other.resize.since];
  if (since === undefined) return false;
  return otherSince === undefined || since < otherSince;
}
