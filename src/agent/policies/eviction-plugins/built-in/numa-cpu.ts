/** When the CPUs of a NUMA node are busy, and which of the pods that run there goes. */
import type { NumaNodeCpu, NumaNodesOfPods } from '../../../../types/eviction-plugin.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import { isEvictable } from '../qos-level.ts';
import {
  type Asked,
  type AskedForPods,
  type ChosenPods,
  type JudgedThreshold,
  nodeCondition,
} from './built-in-policy.ts';
import { boundNumaNode, byImportance, gracePeriodOf, sum } from './built-in-pods.ts';
import { busyShares, isDue, overShare, type Reading } from './readings.ts';

export interface NumaCpuKept {
  /** The counts of the reading before, and when it was. */
  readonly last?: { readonly nodes: readonly NumaNodeCpu[]; readonly atMs: number };
  readonly nodes: ReadonlyMap<number, NumaCpuHistory>;
}

export interface NumaCpuHistory {
  readonly cpus: number;
  readonly readings: readonly (Reading & { readonly share: number })[];
}

export const NO_NUMA_CPU: NumaCpuKept = { nodes: new Map() };

/** Katalyst's name of the figure. */
const SCOPE = 'cpu.usage.container';
const PERIOD_MS = 15_000;

export function judgeNumaCpu(
  nodes: readonly NumaNodeCpu[],
  { nowMs, settings: { numaCpu } }: Asked,
  before: NumaCpuKept,
): JudgedThreshold<NumaCpuKept> {
  const { ringSize, metPercentage, usageRatio, expandFactor } = numaCpu;
  const threshold = usageRatio * expandFactor;
  const isNew = isDue(before.last, nowMs, PERIOD_MS);
  const kept = isNew ? withReading(nodes, nowMs, before, { threshold, ringSize }) : before;
  const isOver = ({ readings }: NumaCpuHistory) => overShare(readings, ringSize) >= metPercentage;
  const over = overloaded(kept, ringSize).filter(({ history }) => isOver(history));
  const [worst] = over;
  if (worst === undefined) return { kept };
  const isWholeNode = over.length === kept.nodes.size;
  return {
    kept,
    met: {
      metType: 'HARD_MET',
      scope: SCOPE,
      thresholdValue: threshold,
      observedValue: averageOf(worst.history),
      ...(isWholeNode && { condition: nodeCondition('NumaCPUPressure', 'NoSchedule') }),
    },
  };
}

export interface NumaCpuPods {
  readonly numaNodes: NumaNodesOfPods;
  readonly usedCores: (pod: Pod) => number | undefined;
}

/**
 * The pods of the node that is above its threshold most often. Pods that are bound to no node go only where all of them are: otherwise the kernel
 * moves their tasks. Reclaimed ones go first, then those of lower priority, then the one whose use comes nearest to what is too much.
 */
export function numaCpuVictims(
  { numaNodes, usedCores }: NumaCpuPods,
  { pods, topN, settings: { numaCpu } }: AskedForPods,
  kept: NumaCpuKept,
): ChosenPods<NumaCpuKept> {
  const { ringSize, metPercentage, usageRatio, skippedPodKinds, gracePeriodSeconds } = numaCpu;
  const ranking = overloaded(kept, ringSize);
  const isOver = ({ history }: (typeof ranking)[number]) =>
    overShare(history.readings, ringSize) >= metPercentage;
  const [worst] = ranking;
  if (worst === undefined || !isOver(worst)) return { kept, pods: [] };
  const areAll = ranking.every(isOver);
  const tooMuch = Math.max(0, averageOf(worst.history) - usageRatio) * worst.history.cpus;
  const candidates = pods.flatMap((pod) => {
    const used = usedCores(pod);
    const node = boundNumaNode(pod, numaNodes);
    const mayGo = isEvictable(pod) && !isOfKind(pod, skippedPodKinds);
    const helps = node === worst.id || (node === undefined && areAll);
    return used === undefined || !mayGo || !helps ? [] : [{ pod, distance: Math.abs(used - tooMuch) }];
  });
  candidates.sort((a, b) => byImportance(a.pod, b.pod) || a.distance - b.distance);
  const chosen = candidates.slice(0, topN).map(({ pod }) => pod);
  return { kept, pods: chosen, gracePeriodSeconds: gracePeriodOf(gracePeriodSeconds) };
}

/** The node that is above most often comes first, of equal ones the busier one. */
function overloaded({ nodes }: NumaCpuKept, ringSize: number) {
  return Array.from(nodes, ([id, history]) => ({ id, history })).sort(
    (a, b) =>
      overShare(b.history.readings, ringSize) - overShare(a.history.readings, ringSize) ||
      averageOf(b.history) - averageOf(a.history),
  );
}

function withReading(
  nodes: readonly NumaNodeCpu[],
  atMs: number,
  { last, nodes: histories }: NumaCpuKept,
  { threshold, ringSize }: { readonly threshold: number; readonly ringSize: number },
): NumaCpuKept {
  const shares = last && busyShares(nodes, last.nodes);
  return {
    last: { nodes, atMs },
    nodes: new Map(
      nodes.map(({ id, cpus }) => {
        const readings = histories.get(id)?.readings ?? [];
        const share = shares?.get(id);
        const more = share === undefined ? [] : [{ atMs, share, isOver: share > threshold }];
        return [id, { cpus, readings: [...readings, ...more].slice(-ringSize) }];
      }),
    ),
  };
}

function averageOf({ readings }: NumaCpuHistory): number {
  return readings.length === 0 ? 0 : sum(readings.map(({ share }) => share)) / readings.length;
}

function isOfKind({ metadata: { ownerReferences = [] } }: Pod, kinds: readonly string[]): boolean {
  return ownerReferences.some(({ kind }) => kinds.includes(kind));
}
