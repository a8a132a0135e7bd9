/** Why this pod: the figures that a choice was made from, in one line. */
import { wholeQuantity } from './eviction-observations.ts';
import type { EvictionCandidate } from './eviction-ranking.ts';
import type { Shortage } from './eviction-shortage.ts';
import type { StarvedResource } from './eviction-signals.ts';
import { quantityString } from './quantity.ts';

/** A choice, and what it was made from. */
export interface EvictionRanking {
  readonly shortage: Shortage;
  /** In the order in which they would go. */
  readonly candidates: readonly EvictionCandidate[];
  /** Those that are ending already. Where there is any, it is waited for, and nobody else goes. */
  readonly awaited: readonly EvictionCandidate[];
  /** The first that may go. */
  readonly victim: EvictionCandidate | undefined;
}

/** So many of those behind the victim are named. */
const NAMED_MAX = 3;

/** What the node runs short of, who goes with which figures, who was passed over, and who would have been next. */
export function describeRanking({ shortage, candidates, awaited, victim }: EvictionRanking): string {
  const ranked = `${candidates.length} ${candidates.length === 1 ? 'pod' : 'pods'} ranked`;
  const beginning = `${describeShortage(shortage)}; ${ranked}`;
  if (awaited.length > 0) return `${beginning}: waiting for the end of ${awaited.map(podName).join(', ')}`;
  if (victim === undefined) return `${beginning}: none can be evicted`;
  const place = candidates.indexOf(victim);
  const [before, behind] = [candidates.slice(0, place), candidates.slice(place + 1)];
  const [next, rest] = [behind.slice(0, NAMED_MAX), behind.length - NAMED_MAX];
  const describe = (candidate: EvictionCandidate) => describeCandidate(candidate, shortage.resource);
  return [
    `${beginning}: ${describe(victim)} goes`,
    ...(before.length > 0 ? [`passed over: ${before.map(passedOver).join(', ')}`] : []),
    ...(next.length > 0 ? [`next: ${next.map(describe).join(', ')}`] : []),
    ...(rest > 0 ? [`and ${rest} more`] : []),
  ].join('; ');
}

/** `memory.available 90Mi < 100Mi (hard)`; `… 110Mi < 100Mi + 50Mi` while only the minimum reclaim is missing. */
export function describeShortage({ threshold, available, quantity, minReclaim, isHard }: Shortage): string {
  const isReclaiming = minReclaim !== undefined && available.nanos >= quantity.nanos;
  const wanted = [quantity, ...(isReclaiming ? [minReclaim] : [])].map(quantityString).join(' + ');
  return `${threshold.signal} ${quantityString(available)} < ${wanted} (${isHard ? 'hard' : 'soft'})`;
}

function passedOver(candidate: EvictionCandidate): string {
  return `${podName(candidate)} (${candidate.isCritical ? 'critical' : 'did not end'})`;
}

function describeCandidate(candidate: EvictionCandidate, resource: StarvedResource): string {
  const { priority, usage, request } = candidate;
  const uses = usage === undefined ? 'usage unknown' : `uses ${amount(usage, resource)}`;
  const requests = isCount(resource) ? '' : `requests ${amount(request, resource)}, `;
  return `${podName(candidate)} (${uses}, ${requests}priority ${priority})`;
}

function podName({ namespace, name }: EvictionCandidate): string {
  return `${namespace}/${name}`;
}

function amount(value: number, resource: StarvedResource): string {
  return isCount(resource) ? String(value) : quantityString(wholeQuantity(BigInt(value), 'BinarySI'));
}

function isCount(resource: StarvedResource): boolean {
  return resource === 'inodes' || resource === 'pids';
}
