/** Why this pod is evicted: the ranking and its figures, in one line. */
import { wholeQuantity } from './observations.ts';
import { type EvictionCandidate, wouldRelieve } from './ranking.ts';
import type { Shortage } from './shortage.ts';
import { isPressureSignal, type StarvedResource } from './signals.ts';
import { figureText } from './pressure-settings.ts';
import { quantityString } from '../formats/quantity.ts';

/** The pods in the order of eviction, and the one that is chosen. */
export interface EvictionRanking {
  readonly shortage: Shortage;
  /** In the order of eviction. */
  readonly candidates: readonly EvictionCandidate[];
  /** Those that are ending already. If there are any, their end is awaited and no pod is evicted. */
  readonly awaited: readonly EvictionCandidate[];
  /** The first one that may be evicted. */
  readonly victim: EvictionCandidate | undefined;
}

/** At most this many pods behind the victim are named. */
const NAMED_MAX = 3;

/** The shortage, the victim and its figures, the pods that were passed over, and those that would be next. */
export function describeRanking({ shortage, candidates, awaited, victim }: EvictionRanking): string {
  const ranked = `${candidates.length} ${candidates.length === 1 ? 'pod' : 'pods'} ranked`;
  const beginning = `${describeShortage(shortage)}; ${ranked}`;
  if (awaited.length > 0) return `${beginning}: waiting for the end of ${awaited.map(podName).join(', ')}`;
  if (victim === undefined) return `${beginning}: none can be evicted`;
  const place = candidates.indexOf(victim);
  const [before, behind] = [candidates.slice(0, place), candidates.slice(place + 1)];
  const [next, unnamed] = [behind.slice(0, NAMED_MAX), behind.length - NAMED_MAX];
  const describe = (candidate: EvictionCandidate) => describeCandidate(candidate, shortage.resource);
  return [
    `${beginning}: ${describe(victim)} goes`,
    ...(before.length > 0
      ? [`passed over: ${before.map((one) => passedOver(one, shortage)).join(', ')}`]
      : []),
    ...(next.length > 0 ? [`next: ${next.map(describe).join(', ')}`] : []),
    ...(unnamed > 0 ? [`and ${unnamed} more`] : []),
  ].join('; ');
}

/**
 * `memory.available 90Mi < 100Mi (hard)`; `… 110Mi < 100Mi + 50Mi` while only the minimum reclaim is missing;
 * `io.pressure.full.avg10 25% > 20% (soft)`.
 */
export function describeShortage(shortage: Shortage): string {
  const { threshold, available, quantity, minReclaim, isHard } = shortage;
  const { signal } = threshold;
  const isReclaiming = minReclaim !== undefined && available.nanos >= quantity.nanos;
  const amounts = [quantity, ...(isReclaiming ? [minReclaim] : [])];
  const wanted = amounts.map((amount) => figureText(signal, amount)).join(' + ');
  const sign = isPressureSignal(signal) ? '>' : '<';
  return `${signal} ${figureText(signal, available)} ${sign} ${wanted} (${isHard ? 'hard' : 'soft'})`;
}

function passedOver(candidate: EvictionCandidate, { resource }: Shortage): string {
  const why = candidate.isCritical
    ? 'critical'
    : wouldRelieve(candidate, resource)
      ? 'did not end'
      : 'does no I/O';
  return `${podName(candidate)} (${why})`;
}

function describeCandidate(candidate: EvictionCandidate, resource: StarvedResource): string {
  const { priority, usage, request } = candidate;
  const uses = usage === undefined ? 'usage unknown' : `uses ${usageText(usage, resource)}`;
  const requests = canBeRequested(resource) ? `requests ${usageText(request, resource)}, ` : '';
  return `${podName(candidate)} (${uses}, ${requests}priority ${priority})`;
}

function podName({ namespace, name }: EvictionCandidate): string {
  return `${namespace}/${name}`;
}

/** A usage for people: `300Mi`, `17`, `2Mi/s`. */
export function usageText(value: number, resource: StarvedResource): string {
  if (resource === 'inodes' || resource === 'pids') return String(value);
  const bytes = quantityString(wholeQuantity(BigInt(value), 'BinarySI'));
  return resource === 'io' ? `${bytes}/s` : bytes;
}

export function canBeRequested(resource: StarvedResource): boolean {
  return resource === 'memory' || resource === 'ephemeral-storage';
}
