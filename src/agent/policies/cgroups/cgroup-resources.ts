/** The limits of a pod's cgroup and of its parents: the kubelet's decisions, before they are written into files. */
import type { Container, Pod } from '../../../types/kubernetes.ts';
import { milliValue, parseQuantity, quantityValue, ZERO_QUANTITY } from '../formats/quantity.ts';
import { podQOS } from '../pod/qos.ts';
import { podLimits, podRequests, type ResourceList, type ResourceQuantities } from '../pod/resources.ts';
import {
  classProtections,
  keptMemory,
  type KeptMemory,
  type MemoryProtection,
  type MemoryQoS,
  podMemoryProtection,
} from './memory-qos.ts';

/** A field that is left out means no limit. */
export interface CgroupResources extends MemoryProtection {
  readonly cpuShares?: number;
  /** -1: no limit. */
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  readonly memoryLimitBytes?: bigint;
  readonly pidsLimit?: number;
  /** A list such as `0-3,8`. Only cgroup v2. */
  readonly cpus?: string | undefined;
  /** Limits in bytes, by the size of the pages in bytes. Pages of a size that is missing must not be used at all. */
  readonly hugePageLimits?: ReadonlyMap<bigint, bigint> | 'unbounded';
}

/** The kubelet has settings of the same names. */
export interface PodCgroupSettings {
  /** -1: no limit. */
  readonly podPidsLimit: number;
  readonly cpuCFSQuota: boolean;
  readonly cpuCFSQuotaPeriodUs: number;
  /** Undefined where the feature is off. */
  readonly memoryQoS?: MemoryQoS | undefined;
}

const HUGE_PAGES = 'hugepages-';
const NO_QUOTA = -1;

/**
 * CPU time and memory of the whole pod are limited only if every container declares a limit, or the pod itself does: the
 * limits of some containers must not restrict a container without one. Throws what `parseQuantity` throws.
 */
export function podCgroupResources(pod: Pod, settings: PodCgroupSettings): CgroupResources {
  const requests = podRequests(pod);
  const limits = podLimits(pod);
  const bestEffort = podQOS(pod) === 'BestEffort';
  return {
    cpuShares: milliCPUToShares(bestEffort ? 0n : milliValue(requests.get('cpu') ?? ZERO_QUANTITY)),
    ...(!bestEffort && isLimited(pod, 'cpu') && quotaOf(limits, settings)),
    ...(!bestEffort && isLimited(pod, 'memory') && memoryLimitOf(limits)),
    ...(settings.podPidsLimit > 0 && { pidsLimit: settings.podPidsLimit }),
    hugePageLimits: hugePageLimitsOf(requests),
    ...(settings.memoryQoS && podMemoryProtection(pod, settings.memoryQoS)),
  };
}

/** What follows from all pods for the groups above them. */
export interface ClassResources {
  readonly kubepods: CgroupResources;
  readonly burstable: CgroupResources;
  /** Undefined where the feature MemoryQoS is off. */
  readonly kept?: KeptMemory;
}

/** Throws what `parseQuantity` throws. */
export function classResources(pods: readonly Pod[], memoryQoS: MemoryQoS | undefined): ClassResources {
  const cpuShares = burstableCPUShares(pods);
  if (!memoryQoS) return { kubepods: {}, burstable: { cpuShares } };
  const kept = keptMemory(pods, memoryQoS);
  const { kubepods, burstable } = classProtections(kept);
  return { kubepods, burstable: { cpuShares, ...burstable }, kept };
}

/** The CPU shares of the cgroup of all Burstable pods. Throws what `parseQuantity` throws. */
export function burstableCPUShares(pods: Iterable<Pod>): number {
  let milliCPU = 0n;
  for (const pod of pods) milliCPU += burstableMilliCPU(pod);
  return milliCPUToShares(milliCPU);
}

/** Kept per pod object, which never changes: each start and end of a pod computes the sum over all pods again. */
const burstableMilliCPUs = new WeakMap<Pod, bigint>();

function burstableMilliCPU(pod: Pod): bigint {
  const known = burstableMilliCPUs.get(pod);
  if (known !== undefined) return known;
  const isBurstable = podQOS(pod) === 'Burstable';
  const milliCPU = isBurstable ? milliValue(podRequests(pod).get('cpu') ?? ZERO_QUANTITY) : 0n;
  burstableMilliCPUs.set(pod, milliCPU);
  return milliCPU;
}

/** The limits of the cgroup of all pods. `allocatable`: the node's resources for pods. */
export function kubepodsResources(allocatable: ResourceList): CgroupResources {
  const { cpu, memory, pid } = allocatable;
  return {
    ...(cpu !== undefined && { cpuShares: milliCPUToShares(milliValue(parseQuantity(cpu))) }),
    ...(memory !== undefined && { memoryLimitBytes: quantityValue(parseQuantity(memory)) }),
    ...(pid !== undefined && { pidsLimit: Number(quantityValue(parseQuantity(pid))) }),
  };
}

function isLimited({ spec }: Pod, resource: 'cpu' | 'memory'): boolean {
  const isSet = ({ resources }: Pick<Container, 'resources'>): boolean => {
    const limit = resources?.limits?.[resource];
    return limit !== undefined && parseQuantity(limit).nanos !== 0n;
  };
  return isSet(spec) || [...spec.containers, ...(spec.initContainers ?? [])].every(isSet);
}

function quotaOf(limits: ResourceQuantities, settings: PodCgroupSettings): CgroupResources {
  const { cpuCFSQuota, cpuCFSQuotaPeriodUs } = settings;
  const milliCPU = milliValue(limits.get('cpu') ?? ZERO_QUANTITY);
  return {
    cpuQuotaUs: cpuCFSQuota ? milliCPUToQuotaUs(milliCPU, cpuCFSQuotaPeriodUs) : NO_QUOTA,
    cpuPeriodUs: cpuCFSQuotaPeriodUs,
  };
}

function memoryLimitOf(limits: ResourceQuantities): CgroupResources {
  return { memoryLimitBytes: quantityValue(limits.get('memory') ?? ZERO_QUANTITY) };
}

function hugePageLimitsOf(requests: ResourceQuantities): ReadonlyMap<bigint, bigint> {
  const hugePages = [...requests].filter(([name]) => name.startsWith(HUGE_PAGES));
  return new Map(
    hugePages.map(([name, quantity]) => [
      quantityValue(parseQuantity(name.slice(HUGE_PAGES.length))),
      quantityValue(quantity),
    ]),
  );
}

const SHARES_MIN = 2;

const SHARES_MAX = 262_144;

const SHARES_PER_CPU = 1024n;

const MILLI_PER_CPU = 1000n;

const QUOTA_MIN_US = 1000;

const WEIGHT_MAX = 10_000;

/** A request as `cpu.shares` of cgroup v1. */
export function milliCPUToShares(milliCPU: bigint): number {
  const shares = Number((milliCPU * SHARES_PER_CPU) / MILLI_PER_CPU);
  return Math.min(SHARES_MAX, Math.max(SHARES_MIN, shares));
}

/** A limit as microseconds of CPU time in each period; 0 without a limit. */
export function milliCPUToQuotaUs(milliCPU: bigint, periodUs: number): number {
  if (milliCPU === 0n) return 0;
  return Math.max(QUOTA_MIN_US, Number((milliCPU * BigInt(periodUs)) / MILLI_PER_CPU));
}

/**
 * `cpu.weight` of cgroup v2 for shares, as the kubelet maps them: linearly, 2 to 1 and 262144 to 10000, so that a whole CPU is 39.
 * Runtimes may map the shares of containers by another curve; only the weights of groups beside each other are compared.
 */
export function sharesToWeight(shares: number): number {
  const above = Math.min(SHARES_MAX, Math.max(SHARES_MIN, shares)) - SHARES_MIN;
  return 1 + Math.trunc((above * (WEIGHT_MAX - 1)) / (SHARES_MAX - SHARES_MIN));
}

/** The shares that a `cpu.weight` stands for. */
export function weightToShares(weight: number): number {
  return SHARES_MIN + Math.trunc(((weight - 1) * (SHARES_MAX - SHARES_MIN)) / (WEIGHT_MAX - 1));
}
