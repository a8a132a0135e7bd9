/** What a pod's cgroup, and those above it, are limited to: the kubelet's decisions, before they become files. */
import type { Container, Pod } from '../../types/kubernetes.ts';
import { milliCPUToQuotaUs, milliCPUToShares } from './cgroup-cpu.ts';
import { podQOS } from '../pod/qos.ts';
import { milliValue, parseQuantity, quantityValue, ZERO_QUANTITY } from '../formats/quantity.ts';
import type { ResourceList, ResourceQuantities } from '../pod/resources.ts';
import { podLimits, podRequests } from '../pod/resources.ts';

/** What is left out is left to the kernel, which means no limit. */
export interface CgroupResources {
  readonly cpuShares?: number;
  /** -1: no limit. */
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  readonly memoryLimitBytes?: bigint;
  readonly pidsLimit?: number;
  /** Bytes by the size of the pages in bytes. A size that is not named may not be used at all. */
  readonly hugePageLimits?: ReadonlyMap<bigint, bigint>;
}

/** The kubelet's settings of the same names. */
export interface PodCgroupSettings {
  /** -1: no limit. */
  readonly podPidsLimit: number;
  readonly cpuCFSQuota: boolean;
  readonly cpuCFSQuotaPeriodUs: number;
}

const HUGE_PAGES = 'hugepages-';
const NO_QUOTA = -1;

/**
 * CPU time and memory are limited for the pod as a whole only where every container declares a limit, or the pod itself
 * does: a container without one must not be held by those of the others. Throws what `parseQuantity` throws.
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
  };
}

/** Of the group of all burstable pods. Throws what `parseQuantity` throws. */
export function burstableCPUShares(pods: Iterable<Pod>): number {
  let milliCPU = 0n;
  for (const pod of pods) milliCPU += burstableMilliCPU(pod);
  return milliCPUToShares(milliCPU);
}

/** Every pod that starts or ends has the sum taken anew, and pods do not change. */
const burstableMilliCPUs = new WeakMap<Pod, bigint>();

function burstableMilliCPU(pod: Pod): bigint {
  const known = burstableMilliCPUs.get(pod);
  if (known !== undefined) return known;
  const isBurstable = podQOS(pod) === 'Burstable';
  const milliCPU = isBurstable ? milliValue(podRequests(pod).get('cpu') ?? ZERO_QUANTITY) : 0n;
  burstableMilliCPUs.set(pod, milliCPU);
  return milliCPU;
}

/** Of the group of all pods, by what the node has for them. */
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
