/** The order in which pods are evicted when a resource is short, with the figures that it comes from. */
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
