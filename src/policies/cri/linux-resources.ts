/** The resources that a runtime grants by cgroups: CPU shares and quota, memory, swap, huge pages. */
import type { LinuxContainerResources } from '../../types/cri.ts';
import type { Container, EphemeralContainer, Pod } from '../../types/kubernetes.ts';
import { milliCPUToQuotaUs, milliCPUToShares } from '../cgroups/cgroup-cpu.ts';
import { type ContainerMemoryQoS, containerMemoryFiles } from '../cgroups/memory-qos.ts';
import { hugePageLimits, podLimits, podRequests, type ResourceQuantities } from '../pod/resources.ts';
import { oomScoreAdj } from './oom-score.ts';
import {
  milliValue,
  parseQuantity,
  type Quantity,
  quantityValue,
  ZERO_QUANTITY,
} from '../formats/quantity.ts';
import { swapLimit, type SwapFacts } from './swap-limit.ts';

export interface ResourceFacts {
  /** Whether CPU limits are enforced. */
  readonly cpuCFSQuota: boolean;
  /** The period of the CPU quota, in microseconds. */
  readonly cpuCFSQuotaPeriodUs: number;
  readonly cgroupVersion: 1 | 2;
  /** Whether the kernel kills only one process of a container that is out of memory. With cgroup v1 it always does. */
  readonly singleProcessOOMKill?: boolean;
}

export interface ContainerResourceFacts extends ResourceFacts, SwapFacts {
  /** The sizes of huge pages of this machine, as cgroups call them: `2MB`. */
  readonly hugePageSizes: readonly string[];
  /** Whether cgroups can limit swap on this machine. */
  readonly swapController: boolean;
  /** Undefined where the feature is off. */
  readonly memoryQoS?: ContainerMemoryQoS | undefined;
}

/**
 * The pod's own limit stands in for a limit that the container does not have, and the CPU limit for a missing CPU request.
 * Throws what `parseQuantity` throws.
 */
export function containerResources(
  pod: Pod,
  container: Container | EphemeralContainer,
  facts: ContainerResourceFacts,
): LinuxContainerResources {
  const { requests, limits } = container.resources ?? {};
  const ofPod = pod.spec.resources?.limits;
  const own = linuxResources(facts, {
    cpuRequest: requests?.cpu === undefined ? undefined : parseQuantity(requests.cpu),
    cpuLimit: limitOr(limits?.cpu, ofPod?.cpu),
    memoryLimit: limitOr(limits?.memory, ofPod?.memory),
  });
  const hugePages = new Map([...hugePageLimits(ofPod), ...hugePageLimits(limits)]);
  return {
    ...own,
    ...(facts.cgroupVersion === 2
      ? unifiedOf(pod, container, own, facts)
      : // In cgroup v1 this limits memory and swap together. Without a memory limit there is no limit of both either.
        facts.swapController && { memorySwapLimitInBytes: own.memoryLimitInBytes }),
    oomScoreAdj: oomScoreAdj(pod, container, facts.memoryCapacityBytes),
    hugepageLimits: facts.hugePageSizes.map((pageSize) => ({
      pageSize,
      limit: hugePages.get(pageSize) ?? 0,
    })),
  };
}

/** What CRI has no fields for: files of cgroup v2, and what is written into them. */
function unifiedOf(
  pod: Pod,
  container: Container | EphemeralContainer,
  { unified }: LinuxContainerResources,
  facts: ContainerResourceFacts,
): Pick<LinuxContainerResources, 'unified'> {
  const files = {
    ...unified,
    ...(facts.swapController && { 'memory.swap.max': String(swapLimit(pod, container, facts)) }),
    ...(facts.memoryQoS && containerMemoryFiles(pod, container, facts.memoryQoS)),
  };
  return Object.keys(files).length > 0 ? { unified: files } : {};
}

/** The resources of all containers together, without overhead. Throws what `parseQuantity` throws. */
export function sandboxResources(pod: Pod, facts: ResourceFacts): LinuxContainerResources {
  const limits = podLimits(pod, { excludeOverhead: true });
  return linuxResources(facts, {
    cpuRequest: podRequests(pod, { excludeOverhead: true }).get('cpu'),
    cpuLimit: amount(limits, 'cpu'),
    memoryLimit: amount(limits, 'memory'),
  });
}

/** The overhead of the sandbox itself, besides its containers; empty for a pod without overhead. */
export function overheadResources(
  { spec: { overhead } }: Pod,
  facts: ResourceFacts,
): Partial<LinuxContainerResources> {
  if (!overhead) return {};
  const cpu = limitOr(overhead.cpu, undefined);
  const memoryLimit = limitOr(overhead.memory, undefined);
  return linuxResources(facts, { cpuRequest: cpu, cpuLimit: cpu, memoryLimit });
}

interface Amounts {
  readonly cpuRequest: Quantity | undefined;
  readonly cpuLimit: Quantity;
  readonly memoryLimit: Quantity;
}

function linuxResources(
  { cpuCFSQuota, cpuCFSQuotaPeriodUs, cgroupVersion, singleProcessOOMKill }: ResourceFacts,
  { cpuRequest, cpuLimit, memoryLimit }: Amounts,
): LinuxContainerResources {
  const killsAll = cgroupVersion === 2 && !singleProcessOOMKill;
  return {
    cpuShares: milliCPUToShares(milliValue(cpuRequest ?? cpuLimit)),
    cpuPeriod: cpuCFSQuota ? cpuCFSQuotaPeriodUs : 0,
    cpuQuota: cpuCFSQuota ? milliCPUToQuotaUs(milliValue(cpuLimit), cpuCFSQuotaPeriodUs) : 0,
    memoryLimitInBytes: Number(quantityValue(memoryLimit)),
    oomScoreAdj: 0,
    ...(killsAll && { unified: { 'memory.oom.group': '1' } }),
  };
}

/** The limit if it is above zero, else the fallback. */
function limitOr(limit: string | undefined, fallback: string | undefined): Quantity {
  const own = limit === undefined ? ZERO_QUANTITY : parseQuantity(limit);
  return own.nanos === 0n && fallback !== undefined ? parseQuantity(fallback) : own;
}

function amount(amounts: ResourceQuantities, name: string): Quantity {
  return amounts.get(name) ?? ZERO_QUANTITY;
}
