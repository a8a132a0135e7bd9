/**
 * The kubelet's feature MemoryQoS, on cgroup v2: memory that the kernel keeps for groups (`memory.min`), that it takes from them last
 * (`memory.low`), and above which it slows their processes down (`memory.high`).
 */
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type { MemoryReservationPolicy } from '../../../types/node-settings.ts';
import { parseQuantity, quantityValue } from '../formats/quantity.ts';
import { podQOS } from '../pod/qos.ts';
import { podRequest, type ResourceList } from '../pod/resources.ts';

export interface MemoryQoS {
  readonly throttlingFactor: number;
  readonly reservationPolicy: MemoryReservationPolicy;
}

export interface ContainerMemoryQoS extends MemoryQoS {
  /** What all pods of the node together may use: stands in for a missing limit. 0: unknown. */
  readonly allocatableBytes: number;
  /** The kernel counts in pages. */
  readonly pageSizeBytes: number;
}

/** A field that is left out is not written. */
export interface MemoryProtection {
  readonly memoryMinBytes?: bigint;
  readonly memoryLowBytes?: bigint;
}

/** By the names of cgroup v2's files. Throws what `parseQuantity` throws. */
export function containerMemoryFiles(
  pod: Pod,
  { resources }: Container | EphemeralContainer,
  qos: ContainerMemoryQoS,
): Readonly<Record<string, string>> {
  const request = memoryIn(resources?.requests);
  const high = memoryHigh(Number(request), Number(memoryIn(resources?.limits)), qos);
  const isKept = request !== 0n && qos.reservationPolicy === 'TieredReservation';
  const { memoryMinBytes, memoryLowBytes } = isKept
    ? protectionOf(pod, request)
    : { memoryMinBytes: 0n, memoryLowBytes: 0n };
  return {
    ...(memoryMinBytes !== undefined && { 'memory.min': String(memoryMinBytes) }),
    ...(memoryLowBytes !== undefined && { 'memory.low': String(memoryLowBytes) }),
    ...(high !== undefined && { 'memory.high': String(high) }),
  };
}

/** For the pod's own group. Throws what `parseQuantity` throws. */
export function podMemoryProtection(pod: Pod, { reservationPolicy }: MemoryQoS): MemoryProtection {
  if (reservationPolicy !== 'TieredReservation') return {};
  const request = quantityValue(podRequest(pod, 'memory'));
  return request > 0n ? protectionOf(pod, request) : {};
}

/** What pods request, by their class, and the kernel therefore keeps for them. */
export interface KeptMemory {
  readonly guaranteedBytes: bigint;
  readonly burstableBytes: bigint;
}

/** Throws what `parseQuantity` throws. */
export function keptMemory(pods: Iterable<Pod>, { reservationPolicy }: MemoryQoS): KeptMemory {
  const sums = { Guaranteed: 0n, Burstable: 0n, BestEffort: 0n };
  if (reservationPolicy === 'TieredReservation')
    for (const pod of pods) sums[podQOS(pod)] += quantityValue(podRequest(pod, 'memory'));
  return { guaranteedBytes: sums.Guaranteed, burstableBytes: sums.Burstable };
}

/** For the groups above the pods: a group keeps memory only as far as the groups above it do. */
export function classProtections({ guaranteedBytes, burstableBytes }: KeptMemory): {
  readonly kubepods: MemoryProtection;
  readonly burstable: MemoryProtection;
} {
  return {
    kubepods: { memoryMinBytes: guaranteedBytes + burstableBytes },
    burstable: { memoryLowBytes: burstableBytes },
  };
}

function protectionOf(pod: Pod, bytes: bigint): MemoryProtection {
  return podQOS(pod) === 'Guaranteed' ? { memoryMinBytes: bytes } : { memoryLowBytes: bytes };
}

/** Undefined where the limit is the request, and where the value would not be above the request. */
function memoryHigh(
  request: number,
  limit: number,
  { throttlingFactor, allocatableBytes, pageSizeBytes }: ContainerMemoryQoS,
): number | undefined {
  const most = limit === 0 ? allocatableBytes : limit;
  if (request === limit || most <= 0) return undefined;
  const bytes = request + (most - request) * throttlingFactor;
  const high = Math.trunc(bytes / pageSizeBytes) * pageSizeBytes;
  return high > request ? high : undefined;
}

function memoryIn(list: ResourceList | undefined): bigint {
  return list?.memory === undefined ? 0n : quantityValue(parseQuantity(list.memory));
}
