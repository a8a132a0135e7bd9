/** When the whole machine is short of memory: little is free, kswapd has worked hard for long, or tasks have waited for long. */
import type { MachineMemory, NumaNodeMemory } from '../../../../types/eviction-plugin.ts';
import type { NumaMemorySettings, SystemMemorySettings } from '../../../../types/built-in-thresholds.ts';
import type { Reach } from './built-in-settings.ts';

/** What is kept from one question to the next. Times are milliseconds. */
export interface SystemPressureMemory {
  readonly kswapd?: { readonly pages: number; readonly atMs: number };
  /** Since when kswapd has taken back too much, without a break. */
  readonly kswapdSinceMs?: number;
  /** Since when tasks have waited too long, without a break. */
  readonly waitingSinceMs?: number;
}

export interface SystemPressure {
  readonly reach: Reach;
  readonly signal: 'free' | 'waiting' | 'kswapd';
  readonly thresholdValue: number;
  readonly observedValue: number;
}

export interface SystemFacts {
  readonly machine: MachineMemory;
  /** How many percent of the last ten seconds some task of each pod that is not reclaimed waited. Undefined: the kernel does not tell. */
  readonly podsWaited: readonly number[] | undefined;
  readonly nowMs: number;
}

interface Verdict {
  readonly kept: SystemPressureMemory;
  readonly pressure?: SystemPressure;
}

/** A program that reads many files keeps kswapd busy and harms no other: some task must have waited so many percent of ten seconds. */
const KSWAPD_SOME_PERCENT = 1;
/** So many pods that are not reclaimed must have waited, for more than this: one that fights its own limit is not the machine. */
const WAITING_PODS = 3;
const WAITING_POD_PERCENT = 1;
const TEN_THOUSANDTHS = 10_000;
/** A rate over a shorter time is not exact enough. */
const SHORTEST_MS = 1000;
/** Any pod goes after so many times as long as pods of `reclaimed_cores`. */
const ANY_AFTER = 3;

/** Where there are several reasons, the one for which any pod goes counts. */
export function judgeSystem(
  facts: SystemFacts,
  before: SystemPressureMemory,
  settings: SystemMemorySettings,
): Verdict {
  const kswapd = judgeKswapd(facts, before, settings);
  const waiting = judgeWaiting(facts, before, settings);
  const found = [judgeFree(facts.machine, settings), waiting.pressure, kswapd.pressure].filter(
    (pressure) => pressure !== undefined,
  );
  const pressure = found.find(({ reach }) => reach === 'any') ?? found[0];
  return { kept: { ...kswapd.kept, ...waiting.kept }, pressure };
}

function judgeFree(
  { totalBytes, freeBytes, watermarkScaleFactor = 0 }: MachineMemory,
  { freeMinimumBytes }: SystemMemorySettings,
): SystemPressure | undefined {
  const thresholdValue = Math.max(freeMinimumBytes, (totalBytes * watermarkScaleFactor) / TEN_THOUSANDTHS);
  if (freeBytes >= thresholdValue) return undefined;
  return { reach: 'reclaimed', signal: 'free', thresholdValue, observedValue: freeBytes };
}

function judgeKswapd(
  { machine: { kswapdPages: pages, psi }, nowMs }: SystemFacts,
  { kswapd: last, kswapdSinceMs }: SystemPressureMemory,
  { kswapdPagesPerSecond: thresholdValue, kswapdDurationMs }: SystemMemorySettings,
): Verdict {
  if (pages === undefined) return { kept: {} };
  // A clock may be set back.
  if (last === undefined || nowMs < last.atMs) {
    return { kept: { kswapd: { pages, atMs: nowMs } } };
  }
  if (nowMs - last.atMs < SHORTEST_MS) {
    return { kept: { kswapd: last, kswapdSinceMs } };
  }
  const kswapd = { pages, atMs: nowMs };
  const observedValue = ((pages - last.pages) * 1000) / (nowMs - last.atMs);
  const isHarmless = psi !== undefined && (psi.some?.avg10 ?? 0) < KSWAPD_SOME_PERCENT;
  if (observedValue < thresholdValue || isHarmless) return { kept: { kswapd } };
  const since = kswapdSinceMs ?? last.atMs;
  const kept = { kswapd, kswapdSinceMs: since };
  if (nowMs - since < kswapdDurationMs) return { kept };
  return { kept, pressure: { reach: 'any', signal: 'kswapd', thresholdValue, observedValue } };
}

function judgeWaiting(
  { machine: { psi }, podsWaited, nowMs }: SystemFacts,
  { waitingSinceMs }: SystemPressureMemory,
  { somePercent, fullPercent, waitDurationMs }: SystemMemorySettings,
): Verdict {
  const some = psi?.some?.avg10 ?? 0;
  const full = psi?.full?.avg10 ?? 0;
  const waited = podsWaited?.filter((percent) => percent > WAITING_POD_PERCENT).length ?? WAITING_PODS;
  if (some < somePercent || full < fullPercent || waited < WAITING_PODS) return { kept: {} };
  const since = waitingSinceMs === undefined || nowMs < waitingSinceMs ? nowMs : waitingSinceMs;
  const kept = { waitingSinceMs: since };
  const elapsedMs = nowMs - since;
  if (elapsedMs < waitDurationMs) return { kept };
  const reach = elapsedMs >= ANY_AFTER * waitDurationMs ? 'any' : 'reclaimed';
  return { kept, pressure: { reach, signal: 'waiting', thresholdValue: somePercent, observedValue: some } };
}

// When a NUMA node is short of memory: by its watermarks, and by how many questions in a row found it below them.

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
  const { id, freeBytes } = node;
  const { min, low, gap } = watermarks(node);
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
