/** The order in which pods are evicted when a resource is short, with the figures that it comes from. */
import type { PodReference } from '../../../types/event-recorder.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { PodStats } from '../../../types/stats.ts';
import { quantityString } from '../formats/quantity.ts';
import { isCriticalPod } from '../pod/pod-kinds.ts';
import { resourceRequest } from '../pod/resources.ts';
import type { PodFsPart } from './file-system-parts.ts';
import { wholeQuantity } from './observations.ts';
import { podUsage } from './pod-usage.ts';
import { figureText } from './pressure-settings.ts';
import type { Shortage } from './shortage.ts';
import { isPressureSignal, type StarvedResource } from './signals.ts';

export interface EvictionCandidate extends PodReference {
  readonly priority: number;
  /** Bytes, inodes, processes, or bytes per second; undefined if the pod was not measured. */
  readonly usage: number | undefined;
  /** What the pod requests of the resource. */
  readonly request: number;
  readonly exceedsRequest: boolean;
  /** Compared last: usage less request; 0 if the usage is not known. */
  readonly overRequest: number;
  /** Never evicted. */
  readonly isCritical: boolean;
}

export interface RankingBasis {
  readonly resource: StarvedResource;
  /** The parts of a pod's disk usage that count. */
  readonly parts: readonly PodFsPart[];
}

/**
 * Pods that are not measured come first, then those that use more than they request, then those of lower priority, then those that are
 * furthest above their request. Processes and I/O cannot be requested: for them priority counts first, then usage. Equal pods keep
 * their order. Throws what `parseQuantity` throws.
 */
export function rankForEviction(
  pods: readonly Pod[],
  stats: ReadonlyMap<string, PodStats>,
  basis: RankingBasis,
): readonly EvictionCandidate[] {
  const candidates = pods.map((pod) => candidateOf(pod, stats.get(pod.metadata.uid), basis));
  return candidates.sort(hasNoRequest(basis.resource) ? compareByUsage : compareByExcess);
}

/** The end of a pod that does no I/O does not make the disks quicker. */
export function wouldRelieve({ usage }: EvictionCandidate, resource: StarvedResource): boolean {
  return resource !== 'io' || usage === undefined || usage > 0;
}

function candidateOf(
  pod: Pod,
  stats: PodStats | undefined,
  { resource, parts }: RankingBasis,
): EvictionCandidate {
  const { name, namespace, uid } = pod.metadata;
  const usage = stats && podUsage(pod, stats, resource, parts);
  const request = hasNoRequest(resource) ? 0 : requestOf(pod, resource);
  return {
    name,
    namespace,
    uid,
    usage,
    request,
    priority: pod.spec.priority ?? 0,
    exceedsRequest: usage !== undefined && usage > request,
    overRequest: usage === undefined ? 0 : usage - subtrahend(pod, resource, request),
    isCritical: isCriticalPod(pod),
  };
}

/** From inodes the kubelet subtracts the bytes that a pod requests. That is odd, but Statelet must choose the same pod. */
function subtrahend(pod: Pod, resource: StarvedResource, request: number): number {
  return resource === 'inodes' ? requestOf(pod, 'ephemeral-storage') : request;
}

/** Exact up to 2^53 (9 PB). */
function requestOf(pod: Pod, resource: string): number {
  return Number(resourceRequest(pod, resource));
}

function compareByExcess(a: EvictionCandidate, b: EvictionCandidate): number {
  return (
    unknownFirst(a, b) ||
    Number(b.exceedsRequest) - Number(a.exceedsRequest) ||
    a.priority - b.priority ||
    b.overRequest - a.overRequest
  );
}

function compareByUsage(a: EvictionCandidate, b: EvictionCandidate): number {
  return a.priority - b.priority || unknownFirst(a, b) || b.overRequest - a.overRequest;
}

function hasNoRequest(resource: StarvedResource): boolean {
  return resource === 'pids' || resource === 'io';
}

function unknownFirst(a: EvictionCandidate, b: EvictionCandidate): number {
  return Number(a.usage !== undefined) - Number(b.usage !== undefined);
}

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
