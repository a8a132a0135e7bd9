/** When the kernel takes much of the processor time of a NUMA node, and which of the pods that run there goes. */
import type { NumaSysCpuSettings } from '../../../../types/built-in-thresholds.ts';
import type {
  CpuTimesOfPods,
  NumaNodeCpu,
  NumaNodesOfPods,
  PodCpuTime,
} from '../../../../types/eviction-plugin.ts';
import { isEvictable } from '../qos-level.ts';
import {
  type Asked,
  type AskedForPods,
  type ChosenPods,
  type JudgedThreshold,
  nodeCondition,
} from './built-in-policy.ts';
import { boundNumaNode, gracePeriodOf, sum } from './built-in-pods.ts';
import { busyShares, isDue } from './readings.ts';

export interface NumaSysCpuFigures {
  readonly nodes: readonly NumaNodeCpu[];
  readonly times: CpuTimesOfPods;
}

export interface NumaSysCpuKept {
  readonly last?: NumaSysCpuFigures & { readonly atMs: number };
  /** By the number of the NUMA node. */
  readonly nodes: ReadonlyMap<number, readonly NodeReading[]>;
  /** What pods have used between the last two readings. */
  readonly pods: CpuTimesOfPods;
}

/** Parts of the processor time of a NUMA node. */
interface NodeReading {
  readonly usage: number;
  readonly system: number;
}

export const NO_NUMA_SYS_CPU: NumaSysCpuKept = { nodes: new Map(), pods: new Map() };

/** Katalyst's name of the figure. */
const SCOPE = 'cpu.usage.sys.container';

export function isReadingDue({ nowMs, settings: { numaSysCpu } }: Asked, { last }: NumaSysCpuKept): boolean {
  return isDue(last, nowMs, numaSysCpu.syncPeriodMs);
}

export function withReading(
  figures: NumaSysCpuFigures,
  { nowMs, settings: { numaSysCpu } }: Asked,
  { last, nodes }: NumaSysCpuKept,
): NumaSysCpuKept {
  const now = { ...figures, atMs: nowMs };
  if (last === undefined) return { ...NO_NUMA_SYS_CPU, last: now };
  const usages = busyShares(figures.nodes, last.nodes);
  const systems = busyShares(figures.nodes, last.nodes, ({ systemTicks }) => systemTicks);
  const readings = figures.nodes.map(({ id }): [number, readonly NodeReading[]] => {
    const [usage, system] = [usages.get(id), systems.get(id)];
    const more = usage === undefined || system === undefined ? [] : [{ usage, system }];
    return [id, [...(nodes.get(id) ?? []), ...more].slice(-numaSysCpu.ringSize)];
  });
  return { last: now, nodes: new Map(readings), pods: usedSince(last.times, figures.times) };
}

/** A node above its hard threshold comes before one above its soft one, then a larger part of use by the kernel before a smaller one. */
export function judgeNumaSysCpu(
  { settings: { numaSysCpu } }: Asked,
  kept: NumaSysCpuKept,
): JudgedThreshold<NumaSysCpuKept> {
  const [worst] = overloaded(kept, numaSysCpu);
  if (worst === undefined) return { kept };
  const { isHard, systemShare: observedValue } = worst;
  return {
    kept,
    met: {
      metType: isHard ? 'HARD_MET' : 'SOFT_MET',
      scope: SCOPE,
      thresholdValue: isHard ? numaSysCpu.hardSystemShare : numaSysCpu.softSystemShare,
      observedValue,
      condition: nodeCondition('NumaSysCPUPressure', 'NoSchedule'),
    },
  };
}

/** The pods bound to that node whose use is to a large part by the kernel. The pod with the most such use comes first. */
export function numaSysCpuVictims(
  numaNodes: NumaNodesOfPods,
  { pods, topN, settings: { numaSysCpu } }: AskedForPods,
  kept: NumaSysCpuKept,
): ChosenPods<NumaSysCpuKept> {
  const [worst] = overloaded(kept, numaSysCpu);
  if (worst?.isHard !== true) return { kept, pods: [] };
  const candidates = pods.flatMap((pod) => {
    const time = kept.pods.get(pod.metadata.uid);
    if (time === undefined || !isEvictable(pod) || boundNumaNode(pod, numaNodes) !== worst.id) return [];
    const isMuch = time.usage > 0 && time.system / time.usage >= numaSysCpu.evictionSystemShare;
    return isMuch ? [{ pod, system: time.system }] : [];
  });
  candidates.sort((a, b) => b.system - a.system);
  const chosen = candidates.slice(0, topN).map(({ pod }) => pod);
  return { kept, pods: chosen, gracePeriodSeconds: gracePeriodOf(numaSysCpu.gracePeriodSeconds) };
}

function overloaded({ nodes }: NumaSysCpuKept, settings: NumaSysCpuSettings) {
  const { ringSize, metPercentage } = settings;
  const isOver = (readings: readonly NodeReading[], threshold: number) =>
    readings.filter(({ usage }) => usage > threshold).length / ringSize >= metPercentage;
  return Array.from(nodes, ([id, readings]) => {
    const systemShare = sum(readings.map(({ system }) => system)) / sum(readings.map(({ usage }) => usage));
    const isSoft = isOver(readings, settings.softUsage) && systemShare >= settings.softSystemShare;
    const isHard = isOver(readings, settings.hardUsage) && systemShare >= settings.hardSystemShare;
    return { id, systemShare, isSoft, isHard };
  })
    .filter(({ isSoft, isHard }) => isSoft || isHard)
    .sort((a, b) => Number(b.isHard) - Number(a.isHard) || b.systemShare - a.systemShare);
}

/** Of a pod whose counts have begun anew, nothing is known. */
function usedSince(before: CpuTimesOfPods, now: CpuTimesOfPods): CpuTimesOfPods {
  return new Map(
    [...now].flatMap(([uid, { usage, system }]): [string, PodCpuTime][] => {
      const last = before.get(uid);
      if (last === undefined || usage < last.usage || system < last.system) return [];
      return [[uid, { usage: usage - last.usage, system: system - last.system }]];
    }),
  );
}
