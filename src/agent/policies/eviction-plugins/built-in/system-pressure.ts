/** When the whole machine is short of memory: little is free, kswapd has worked hard for long, or tasks have waited for long. */
import type { MachineMemory } from '../../../../types/eviction-plugin.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import type { PodStats } from '../../../../types/stats.ts';
import type { SystemMemorySettings } from '../../../../types/built-in-thresholds.ts';
import { isReclaimed, memoryGracePeriod, type Reach, victimsByUse } from './built-in-pods.ts';
import { isCoolingDown } from './readings.ts';
import {
  type Asked,
  type AskedForPods,
  type ChosenPods,
  type JudgedThreshold,
  nodeCondition,
} from './built-in-policy.ts';

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
  /** How many percent of the last ten seconds some task of each pod that is not reclaimed waited. Undefined: the kernel has no such figures. */
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

export interface SystemMemoryKept {
  readonly memory: SystemPressureMemory;
  readonly pressure: SystemPressure | undefined;
  /** When pods were named last. */
  readonly namedAtMs: number;
}

export const NO_SYSTEM_PRESSURE: SystemMemoryKept = {
  memory: {},
  pressure: undefined,
  namedAtMs: -Infinity,
};

export function judgeSystemMemory(
  facts: Omit<SystemFacts, 'nowMs'>,
  { nowMs, settings }: Asked,
  { memory, namedAtMs }: SystemMemoryKept,
): JudgedThreshold<SystemMemoryKept> {
  const { kept: after, pressure } = judgeSystem({ ...facts, nowMs }, memory, settings.systemMemory);
  const kept = { memory: after, pressure, namedAtMs };
  if (pressure === undefined) return { kept };
  const { thresholdValue, observedValue } = pressure;
  const condition = nodeCondition('MemoryPressure', 'NoSchedule');
  return {
    kept,
    met: { metType: 'HARD_MET', scope: 'SystemMemory', thresholdValue, observedValue, condition },
  };
}

export function systemMemoryVictims(
  stats: ReadonlyMap<string, PodStats>,
  { pods, topN, nowMs, settings: { systemMemory, memoryGrace } }: AskedForPods,
  kept: SystemMemoryKept,
): ChosenPods<SystemMemoryKept> {
  const { pressure, namedAtMs } = kept;
  if (pressure === undefined || isCoolingDown(namedAtMs, systemMemory.coolDownMs, nowMs))
    return { kept, pods: [] };
  const usedBytes = ({ metadata: { uid } }: Pod) => {
    const memory = stats.get(uid)?.memory;
    return memory?.usageBytes ?? memory?.workingSetBytes;
  };
  const chosen = victimsByUse(pods, pressure.reach, usedBytes).slice(0, topN);
  return {
    kept: chosen.length === 0 ? kept : { ...kept, namedAtMs: nowMs },
    pods: chosen,
    gracePeriodSeconds: memoryGracePeriod(pressure.reach, memoryGrace),
  };
}

/** Undefined if the kernel counts it of no pod. */
export function podsThatWaited(
  pods: readonly Pod[],
  stats: ReadonlyMap<string, PodStats>,
): readonly number[] | undefined {
  const counted = pods.flatMap((pod) => {
    const percent = stats.get(pod.metadata.uid)?.memory?.psi?.some?.avg10;
    return percent === undefined ? [] : [{ pod, percent }];
  });
  if (counted.length === 0) return undefined;
  return counted.filter(({ pod }) => !isReclaimed(pod)).map(({ percent }) => percent);
}
