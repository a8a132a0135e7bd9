/** The resources that a runtime grants by cgroups: CPU shares and quota, memory, swap, huge pages. */
import type { LinuxContainerResources } from '../../../types/cri.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type { SwapBehavior } from '../../../types/node-settings.ts';
import { milliCPUToQuotaUs, milliCPUToShares } from '../cgroups/cgroup-resources.ts';
import { containerMemoryFiles, type ContainerMemoryQoS } from '../cgroups/memory-qos.ts';
import { named } from '../formats/lookups.ts';
import {
  milliValue,
  parseQuantity,
  type Quantity,
  quantityValue,
  ZERO_QUANTITY,
} from '../formats/quantity.ts';
import { restartsFor } from '../resize/resize-actions.ts';
import { initAndRegular, isRestartableInitContainer } from '../pod-actions/restart.ts';
import { isCriticalPod, isNodeCriticalPod } from '../pod/pod-kinds.ts';
import { podQOS } from '../pod/qos.ts';
import {
  hugePageLimits,
  limitOr,
  podLimits,
  podRequests,
  type ResourceList,
  type ResourceQuantities,
} from '../pod/resources.ts';

/** CRI's way to say that there is no CPU quota. */
export const NO_QUOTA = -1;

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

function amount(amounts: ResourceQuantities, name: string): Quantity {
  return amounts.get(name) ?? ZERO_QUANTITY;
}

type AnyContainer = Container | EphemeralContainer;

const GUARANTEED = -997;

const BEST_EFFORT = 1000;

/** A Guaranteed container that uses all memory has a score of 3. No Burstable container may have a lower one. */
const BURSTABLE_MIN = 1000 + GUARANTEED;

const BURSTABLE_MAX = BEST_EFFORT - 1;

/**
 * The `oom_score_adj` of a container's processes: those with a high score are killed first. A Burstable container has a lower
 * score the more of the node's memory it requests. Throws what `parseQuantity` throws.
 */
export function oomScoreAdj(pod: Pod, container: AnyContainer, memoryCapacityBytes: number): number {
  if (isNodeCriticalPod(pod)) return GUARANTEED;
  switch (podQOS(pod)) {
    case 'Guaranteed':
      return GUARANTEED;
    case 'BestEffort':
      return BEST_EFFORT;
    case 'Burstable': {
      const share = (1000n * protectedBytes(pod, container)) / BigInt(Math.max(memoryCapacityBytes, 1));
      return Math.min(Math.max(1000 - Number(share), BURSTABLE_MIN), BURSTABLE_MAX);
    }
  }
}

/** The container's request, and its share of the pod's own request beyond those of its containers. */
function protectedBytes(pod: Pod, container: AnyContainer): bigint {
  const own = requestBytes(container);
  const least = isSidecar(pod, container) ? leastRequestBytes(pod.spec.containers) : 0n;
  // A sidecar must not be killed before the containers that it serves.
  return (least > own ? least : own) + sharedBytes(pod);
}

function sharedBytes(pod: Pod): bigint {
  const { resources, containers, initContainers = [] } = pod.spec;
  const ofPod = bytes(resources?.requests?.memory);
  if (ofPod === 0n) return 0n;
  const withoutItsOwn: Pod = { ...pod, spec: { ...pod.spec, resources: {} } };
  const ofContainers = podRequests(withoutItsOwn, { excludeOverhead: true }).get('memory') ?? ZERO_QUANTITY;
  return (ofPod - quantityValue(ofContainers)) / BigInt(containers.length + initContainers.length);
}

function isSidecar({ spec }: Pod, container: AnyContainer): boolean {
  const own = named(spec.initContainers ?? [], container.name);
  return own !== undefined && isRestartableInitContainer(own);
}

function leastRequestBytes(containers: readonly Container[]): bigint {
  const [first = 0n, ...others] = containers.map(requestBytes);
  return others.reduce((least, request) => (request < least ? request : least), first);
}

function requestBytes({ resources }: AnyContainer): bigint {
  return bytes(resources?.requests?.memory);
}

function bytes(amount: string | undefined): bigint {
  return amount === undefined ? 0n : quantityValue(parseQuantity(amount));
}

interface SwapFacts {
  /** Default: containers use none. */
  readonly swapBehavior?: SwapBehavior;
  /** Of the machine. */
  readonly memoryCapacityBytes: number;
  readonly swapCapacityBytes: number;
}

/**
 * In bytes, 0 for none. With LimitedSwap a container may use as large a part of the swap as it requests of the memory, but only in a
 * Burstable pod that is not critical, and if it may use more memory than it requests. Throws what `parseQuantity` throws.
 */
export function swapLimit(
  pod: Pod,
  { resources }: Container | EphemeralContainer,
  { swapBehavior, memoryCapacityBytes, swapCapacityBytes }: SwapFacts,
): number {
  if (swapBehavior !== 'LimitedSwap' || isCriticalPod(pod) || podQOS(pod) !== 'Burstable') return 0;
  const request = memoryIn(resources?.requests);
  // Equal as well where a container has neither.
  if (request === memoryIn(resources?.limits)) return 0;
  if (memoryCapacityBytes <= 0 || request > memoryCapacityBytes) return 0;
  return Math.trunc((request / memoryCapacityBytes) * swapCapacityBytes);
}

function memoryIn(list: ResourceList | undefined): number {
  return list?.memory === undefined ? 0 : Number(quantityValue(parseQuantity(list.memory)));
}

/** Whether another memory request would change the swap of a container that goes on: nothing changes that in place. */
export function changesSwap(desired: Pod, allocated: Pod, facts: SwapFacts): boolean {
  const before = new Map(initAndRegular(allocated).map((container) => [container.name, container]));
  return initAndRegular(desired).some((container) => {
    const own = before.get(container.name);
    if (own === undefined || restartsFor(own, 'memory')) return false;
    if (memoryIn(own.resources?.requests) === memoryIn(container.resources?.requests)) return false;
    return mayUseSwap(desired, container, facts) || mayUseSwap(allocated, own, facts);
  });
}

function mayUseSwap(pod: Pod, container: Container, facts: SwapFacts): boolean {
  return swapLimit(pod, container, facts) > 0;
}
