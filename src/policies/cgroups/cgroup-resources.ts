/** The limits of a pod's cgroup and of its parents: the kubelet's decisions, before they are written into files. */
import type { Container, Pod } from '../../types/kubernetes.ts';
import { milliCPUToQuotaUs, milliCPUToShares } from './cgroup-cpu.ts';
import {
  classProtections,
  keptMemory,
  type KeptMemory,
  type MemoryProtection,
  type MemoryQoS,
  podMemoryProtection,
} from './memory-qos.ts';
import { podQOS } from '../pod/qos.ts';
import { milliValue, parseQuantity, quantityValue, ZERO_QUANTITY } from '../formats/quantity.ts';
import type { ResourceList, ResourceQuantities } from '../pod/resources.ts';
import { podLimits, podRequests } from '../pod/resources.ts';

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
