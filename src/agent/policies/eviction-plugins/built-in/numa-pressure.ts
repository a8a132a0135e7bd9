/** When a NUMA node is short of memory: by its watermarks, and by how many questions in a row found it below them. */
import type { NumaMemorySettings } from '../../../../types/built-in-thresholds.ts';
import type { BytesByNumaNode, NumaNodeMemory } from '../../../../types/eviction-plugin.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import { memoryGracePeriod, type Reach, victimsByUse } from './built-in-pods.ts';
import type { Asked, AskedForPods, ChosenPods, JudgedThreshold } from './built-in-policy.ts';

export interface NumaVerdict {
  readonly id: number;
  readonly totalBytes: number;
  readonly freeBytes: number;
  /** The watermark that counts: pressure begins below it. */
  readonly targetBytes: number;
  /** How many questions have found it below, less those since that have not. */
  readonly times: number;
  /** Undefined: no pod has to go. */
  readonly reach: Reach | undefined;
}

const GIB = 2 ** 30;
/** A node whose inactive page cache is smaller than this is short of memory before its watermarks say so. */
const CACHE_RESERVE_BYTES = 4 * GIB;
/** Added then to both watermarks. With much cache nothing is: the kernel lets it grow until memory is near `low`, and gives it back. */
const GAP_BYTES = GIB;
/** Added then to `low`, so that kswapd is not woken and put to sleep in turn. */
const LOW_GUARD_BYTES = GIB / 4;
/** These amounts are meant for a NUMA node of this size; of a smaller one they take the same part. */
const REFERENCE_NODE_BYTES = 128 * GIB;

/** Questions in a row after which a deep shortage counts twice. */
const DEEP_FROM_TIMES = 2;

/** `times`: of the verdict before; 0 if there is none. */
export function judgeNumaNode(
  node: NumaNodeMemory,
  times: number,
  settings: NumaMemorySettings,
): NumaVerdict {
  const { id, freeBytes, totalBytes } = node;
  const found = { id, freeBytes, totalBytes };
  const { min, low, gap } = watermarks(node);
  const { timesAny, timesReclaimed, fastTimes } = settings;
  if (freeBytes < min) {
    const now = Math.max(times + 1, timesAny - fastTimes);
    return { ...found, targetBytes: min, times: now, reach: now >= timesAny ? 'any' : 'reclaimed' };
  }
  if (freeBytes >= low) {
    const now = Math.min(Math.max(0, times - 1), timesReclaimed);
    return { ...found, targetBytes: low, times: now, reach: undefined };
  }
  const isDeep = freeBytes < (min + low) / 2 || freeBytes < low - gap;
  const now = times + 1 + (isDeep && times + 1 > DEEP_FROM_TIMES ? 1 : 0);
  const reclaimed = now > timesReclaimed ? 'reclaimed' : undefined;
  return { ...found, targetBytes: low, times: now, reach: now >= timesAny ? 'any' : reclaimed };
}

/** The nodes from which pods have to go, the one that lacks most first. */
export function shortNumaNodes(
  verdicts: readonly NumaVerdict[],
): readonly (NumaVerdict & { readonly reach: Reach })[] {
  return verdicts
    .flatMap((verdict) => (verdict.reach === undefined ? [] : [{ ...verdict, reach: verdict.reach }]))
    .sort((a, b) => a.freeBytes / a.targetBytes - b.freeBytes / b.targetBytes);
}

function watermarks({ totalBytes, minBytes, lowBytes, inactiveFileBytes }: NumaNodeMemory): {
  readonly min: number;
  readonly low: number;
  readonly gap: number;
} {
  const part = Math.min(1, totalBytes / REFERENCE_NODE_BYTES);
  const gap = GAP_BYTES * part;
  const reserve = CACHE_RESERVE_BYTES * part;
  if (inactiveFileBytes >= Math.max(reserve, lowBytes)) return { min: minBytes, low: lowBytes, gap };
  return { min: minBytes + gap, low: Math.max(reserve, lowBytes + LOW_GUARD_BYTES * part + gap), gap };
}

/** What was found of each node. */
export type NumaMemoryKept = readonly NumaVerdict[];

export function judgeNumaMemory(
  nodes: readonly NumaNodeMemory[],
  { settings }: Asked,
  before: NumaMemoryKept,
): JudgedThreshold<NumaMemoryKept> {
  const kept = nodes.map((node) => {
    const times = before.find(({ id }) => id === node.id)?.times ?? 0;
    return judgeNumaNode(node, times, settings.numaMemory);
  });
  const [worst] = shortNumaNodes(kept);
  if (worst === undefined) return { kept };
  const { targetBytes: thresholdValue, freeBytes: observedValue } = worst;
  return { kept, met: { metType: 'HARD_MET', scope: 'NumaMemory', thresholdValue, observedValue } };
}

/** Pods of the node that lacks most come first, others only if these are not enough. `bytes`: where the memory of pods lies, by UID. */
export function numaMemoryVictims(
  bytes: ReadonlyMap<string, BytesByNumaNode>,
  { pods, topN, settings: { numaMemory, memoryGrace } }: AskedForPods,
  kept: NumaMemoryKept,
): ChosenPods<NumaMemoryKept> {
  const chosen = new Set<Pod>();
  let gracePeriodSeconds = memoryGracePeriod('reclaimed', memoryGrace);
  for (const { id, reach, totalBytes } of shortNumaNodes(kept)) {
    const usedBytes = ({ metadata }: Pod) => bytes.get(metadata.uid)?.get(id) ?? 0;
    const candidates = pods.filter(
      (pod) => usedBytes(pod) >= numaMemory.smallestShare * totalBytes && !chosen.has(pod),
    );
    const victims = victimsByUse(candidates, reach, usedBytes).slice(0, topN - chosen.size);
    for (const pod of victims) chosen.add(pod);
    if (victims.length > 0 && reach === 'any') gracePeriodSeconds = memoryGracePeriod(reach, memoryGrace);
  }
  return { kept, pods: [...chosen], gracePeriodSeconds };
}
