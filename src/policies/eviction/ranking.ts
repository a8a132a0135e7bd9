/** In which order pods go when the node runs short of something, with the figures that the order comes from. */
import type { PodReference } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { PodStats } from '../../types/stats.ts';
import type { PodFsPart } from './file-system-parts.ts';
import type { StarvedResource } from './signals.ts';
import { podUsage } from './pod-usage.ts';
import { isCriticalPod } from '../pod/pod-kinds.ts';
import { resourceRequest } from '../pod/resources.ts';

export interface EvictionCandidate extends PodReference {
  readonly priority: number;
  /** Bytes, inodes, processes, or bytes per second; undefined where nothing was measured of the pod. */
  readonly usage: number | undefined;
  /** What the pod has requested of that. */
  readonly request: number;
  readonly exceedsRequest: boolean;
  /** The last figure to look at: usage less request, 0 where the usage is not known. */
  readonly overRequest: number;
  /** Never evicted. */
  readonly isCritical: boolean;
}

export interface RankingBasis {
  readonly resource: StarvedResource;
  /** What of a pod's disk counts. */
  readonly parts: readonly PodFsPart[];
}

/**
 * Those that go first come first: pods of which nothing is known, then those that use more than they have requested, then
 * those of lower priority, then those that are furthest above their request. Processes and I/O are not requested: of those
 * only priority and number count. Full equals keep their order. Throws what `parseQuantity` throws.
 */
export function rankForEviction(
  pods: readonly Pod[],
  stats: ReadonlyMap<string, PodStats>,
  basis: RankingBasis,
): readonly EvictionCandidate[] {
  const candidates = pods.map((pod) => candidateOf(pod, stats.get(pod.metadata.uid), basis));
  return candidates.sort(hasNoRequest(basis.resource) ? compareByUsage : compareByExcess);
}

/** The disks are no quicker for the end of a pod that does not use them. */
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
    ...{ name, namespace, uid, usage, request },
    priority: pod.spec.priority ?? 0,
    exceedsRequest: usage !== undefined && usage > request,
    overRequest: usage === undefined ? 0 : usage - subtrahend(pod, resource, request),
    isCritical: isCriticalPod(pod),
  };
}

/** From inodes the kubelet takes the bytes that a pod has requested. Odd, but which pod goes must not depend on the agent. */
function subtrahend(pod: Pod, resource: StarvedResource, request: number): number {
  return resource === 'inodes' ? requestOf(pod, 'ephemeral-storage') : request;
}

/** Exact up to 2^53: 9 PB. */
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
