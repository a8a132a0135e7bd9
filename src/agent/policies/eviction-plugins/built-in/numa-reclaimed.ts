/** What pods of `reclaimed_cores` that are bound to a NUMA node request, over what that node can give them. */
import type {
  BytesByNumaNode,
  NumaNodeCpu,
  NumaNodesOfPods,
  NumaNodeMemory,
} from '../../../../types/eviction-plugin.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import type { PodStats } from '../../../../types/stats.ts';
import type { ResourceList } from '../../pod/resources.ts';
import type { Asked, AskedForPods, ChosenPods, JudgedThreshold } from './built-in-policy.ts';
import {
  boundNumaNode,
  gracePeriodOf,
  isReclaimed,
  RECLAIMED_MEMORY,
  RECLAIMED_MILLICPU,
  sum,
} from './built-in-pods.ts';
import { busyShares } from './readings.ts';
import {
  allocatableAmounts,
  type Amounts,
  reclaimedVictims,
  requestedAmount,
} from './reclaimed-resources.ts';

export interface NumaReclaimedFacts {
  readonly allocatable: ResourceList;
  readonly cpus: readonly NumaNodeCpu[];
  readonly memory: readonly NumaNodeMemory[];
  /** Where the memory of pods lies, by UID. */
  readonly bytes: ReadonlyMap<string, BytesByNumaNode>;
  readonly numaNodes: NumaNodesOfPods;
  readonly stats: ReadonlyMap<string, PodStats>;
}

/** The counts of the question before. */
export type NumaReclaimedKept = readonly NumaNodeCpu[];

const NANOS_PER_MILLI = 1_000_000;
/** Katalyst's form of a scope: `zone0|RESOURCE`. */
const SCOPE = /^zone(\d+)\|(.+)$/u;

/** Reclaimed pods by the NUMA node that they are bound to. */
export function reclaimedByNode(
  pods: readonly Pod[],
  numaNodes: NumaNodesOfPods,
): ReadonlyMap<number, readonly Pod[]> {
  const bound = pods.filter(isReclaimed).flatMap((pod) => {
    const node = boundNumaNode(pod, numaNodes);
    return node === undefined ? [] : [{ pod, node }];
  });
  const groups = [...Map.groupBy(bound, ({ node }) => node)];
  return new Map(groups.map(([node, ofNode]) => [node, ofNode.map(({ pod }) => pod)]));
}

export function judgeNumaReclaimed(
  facts: NumaReclaimedFacts,
  { pods, settings: { reclaimedResources } }: Asked,
  before: NumaReclaimedKept,
): JudgedThreshold<NumaReclaimedKept> {
  const kept = facts.cpus;
  for (const [node, ofNode] of reclaimedByNode(pods, facts.numaNodes)) {
    const canGive = numaSupply(node, ofNode, facts, before);
    for (const [resource, factor] of Object.entries(reclaimedResources.evictionThreshold)) {
      const total = canGive.get(resource);
      if (total === undefined) continue;
      if (total === 0 && reclaimedResources.skippedAtZero.includes(resource)) continue;
      const observedValue = ofNode.reduce((sum, pod) => sum + requestedAmount(pod, resource), 0);
      const thresholdValue = factor * total;
      if (observedValue <= thresholdValue) continue;
      const scope = `zone${node}|${resource}`;
      const { toleranceSeconds: gracePeriodSeconds } = reclaimedResources;
      return { kept, met: { metType: 'HARD_MET', scope, thresholdValue, observedValue, gracePeriodSeconds } };
    }
  }
  return { kept };
}

/** Those bound to the node of the scope that request most. */
export function numaReclaimedVictims(
  numaNodes: NumaNodesOfPods,
  { pods, scope, topN, settings: { reclaimedResources } }: AskedForPods,
  kept: NumaReclaimedKept,
): ChosenPods<NumaReclaimedKept> {
  const [, node, resource = ''] = SCOPE.exec(scope) ?? [];
  const bound = node === undefined ? [] : (reclaimedByNode(pods, numaNodes).get(Number(node)) ?? []);
  return {
    kept,
    pods: reclaimedVictims(bound, resource, topN),
    gracePeriodSeconds: gracePeriodOf(reclaimedResources.gracePeriodSeconds),
  };
}

/** The node's part of what is allocatable, less a reserve, less what others than these pods use on it. What is not known is left out. */
function numaSupply(
  node: number,
  ofNode: readonly Pod[],
  { allocatable, cpus, memory, bytes, stats }: NumaReclaimedFacts,
  before: NumaReclaimedKept,
): Amounts {
  const whole = allocatableAmounts(allocatable);
  const own = new Set(ofNode.map(({ metadata }) => metadata.uid));
  const amounts = new Map<string, number>();
  const count = cpus.find(({ id }) => id === node)?.cpus ?? 0;
  const busy = busyShares(cpus, before).get(node);
  if (whole.milliCPU !== undefined && busy !== undefined) {
    const nanos = ofNode.reduce(
      (sum, { metadata }) => sum + (stats.get(metadata.uid)?.cpu?.usageNanoCores ?? 0),
      0,
    );
    const others = Math.max(0, busy * count * 1000 - nanos / NANOS_PER_MILLI);
    const total = (whole.milliCPU * count) / sum(cpus.map((one) => one.cpus));
    amounts.set(RECLAIMED_MILLICPU, Math.max(0, Math.floor(total - others)));
  }
  const ofMemory = memory.find(({ id }) => id === node);
  if (whole.memoryBytes !== undefined && ofMemory !== undefined && bytes.size > 0) {
    const others = sum(Array.from(bytes, ([uid, byNode]) => (own.has(uid) ? 0 : (byNode.get(node) ?? 0))));
    const total = (whole.memoryBytes * ofMemory.totalBytes) / sum(memory.map(({ totalBytes }) => totalBytes));
    amounts.set(RECLAIMED_MEMORY, Math.max(0, Math.floor(total - others)));
  }
  return amounts;
}
