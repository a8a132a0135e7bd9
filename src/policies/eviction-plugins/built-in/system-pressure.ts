/** When the whole machine is short of memory: little is free, kswapd has worked hard for long, or tasks have waited for long. */
import type { MachineMemory } from '../../../types/eviction/node-memory.ts';
import type { SystemMemorySettings } from './built-in-settings.ts';
import type { Reach } from './memory-victims.ts';

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
  return { kept: { ...kswapd.kept, ...waiting.kept }, ...(pressure && { pressure }) };
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
  { kswapdPagesPerSecond: thresholdValue, kswapdDurationMs, kswapdSomePercent }: SystemMemorySettings,
): Verdict {
  if (pages === undefined) return { kept: {} };
  // A clock may be set back.
  if (last === undefined || nowMs < last.atMs) {
    return { kept: { kswapd: { pages, atMs: nowMs } } };
  }
  if (nowMs - last.atMs < SHORTEST_MS) {
    return { kept: { kswapd: last, ...(kswapdSinceMs !== undefined && { kswapdSinceMs }) } };
  }
  const kswapd = { pages, atMs: nowMs };
  const observedValue = ((pages - last.pages) * 1000) / (nowMs - last.atMs);
  const isHarmless = psi !== undefined && (psi.some?.avg10 ?? 0) < kswapdSomePercent;
  if (observedValue < thresholdValue || isHarmless) return { kept: { kswapd } };
  const since = kswapdSinceMs ?? last.atMs;
  const kept = { kswapd, kswapdSinceMs: since };
  if (nowMs - since < kswapdDurationMs) return { kept };
  return { kept, pressure: { reach: 'any', signal: 'kswapd', thresholdValue, observedValue } };
}

function judgeWaiting(
  { machine: { psi }, podsWaited, nowMs }: SystemFacts,
  { waitingSinceMs }: SystemPressureMemory,
  { somePercent, fullPercent, waitingPods, waitingPodPercent, waitDurationMs }: SystemMemorySettings,
): Verdict {
  const some = psi?.some?.avg10 ?? 0;
  const full = psi?.full?.avg10 ?? 0;
  const waited = podsWaited?.filter((percent) => percent > waitingPodPercent).length ?? waitingPods;
  if (some < somePercent || full < fullPercent || waited < waitingPods) return { kept: {} };
  const since = waitingSinceMs === undefined || nowMs < waitingSinceMs ? nowMs : waitingSinceMs;
  const kept = { waitingSinceMs: since };
  const elapsedMs = nowMs - since;
  if (elapsedMs < waitDurationMs) return { kept };
  const reach = elapsedMs >= ANY_AFTER * waitDurationMs ? 'any' : 'reclaimed';
  return { kept, pressure: { reach, signal: 'waiting', thresholdValue: somePercent, observedValue: some } };
}
