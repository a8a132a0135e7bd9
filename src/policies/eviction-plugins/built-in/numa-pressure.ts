/** When a NUMA node is short of memory: by its watermarks, and by how many questions in a row found it below them. */
import type { NumaNodeMemory } from '../../../types/eviction/node-memory.ts';
import type { NumaMemorySettings } from './built-in-settings.ts';
import type { Reach } from './memory-victims.ts';

export interface NumaVerdict {
  readonly id: number;
  readonly freeBytes: number;
  /** The watermark that counts: pressure begins below it. */
  readonly targetBytes: number;
  /** In how many questions it was below, less those since in which it was not. */
  readonly times: number;
  /** Undefined: no pod has to go. */
  readonly reach: Reach | undefined;
}

/** Questions in a row after which a deep shortage counts twice. */
const DEEP_FROM_TIMES = 2;

/** `times`: of the verdict before; 0 if there is none. */
export function judgeNumaNode(
  node: NumaNodeMemory,
  times: number,
  settings: NumaMemorySettings,
): NumaVerdict {
  const { id, freeBytes } = node;
  const { min, low, gap } = watermarks(node, settings);
  const { timesAny, timesReclaimed, fastTimes } = settings;
  if (freeBytes < min) {
    const now = Math.max(times + 1, timesAny - fastTimes);
    return { id, freeBytes, targetBytes: min, times: now, reach: now >= timesAny ? 'any' : 'reclaimed' };
  }
  if (freeBytes >= low) {
    const now = Math.min(Math.max(0, times - 1), timesReclaimed);
    return { id, freeBytes, targetBytes: low, times: now, reach: undefined };
  }
  const isDeep = freeBytes < (min + low) / 2 || freeBytes < low - gap;
  const now = times + 1 + (isDeep && times + 1 > DEEP_FROM_TIMES ? 1 : 0);
  const reclaimed = now > timesReclaimed ? 'reclaimed' : undefined;
  return { id, freeBytes, targetBytes: low, times: now, reach: now >= timesAny ? 'any' : reclaimed };
}

/** The nodes from which pods have to go, the one that lacks most first. */
export function shortNumaNodes(
  verdicts: readonly NumaVerdict[],
): readonly (NumaVerdict & { readonly reach: Reach })[] {
  return verdicts
    .flatMap((verdict) => (verdict.reach === undefined ? [] : [{ ...verdict, reach: verdict.reach }]))
    .sort((a, b) => a.freeBytes / a.targetBytes - b.freeBytes / b.targetBytes);
}

function watermarks(
  { totalBytes, minBytes, lowBytes, inactiveFileBytes }: NumaNodeMemory,
  { lowGuardBytes, gapBytes, cacheReserveBytes, referenceNodeBytes }: NumaMemorySettings,
): { readonly min: number; readonly low: number; readonly gap: number } {
  const part = Math.min(1, totalBytes / referenceNodeBytes);
  const gap = gapBytes * part;
  const reserve = cacheReserveBytes * part;
  if (inactiveFileBytes >= Math.max(reserve, lowBytes)) return { min: minBytes, low: lowBytes, gap };
  return { min: minBytes + gap, low: Math.max(reserve, lowBytes + lowGuardBytes * part + gap), gap };
}
