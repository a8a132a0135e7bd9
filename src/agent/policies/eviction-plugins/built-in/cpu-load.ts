/** When far more tasks want to run than the machine has CPUs. */
import type { CpuLoadSettings } from '../../../../types/built-in-thresholds.ts';
import type { MachineLoad } from '../../../../types/eviction-plugin.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import {
  type Asked,
  type AskedForPods,
  type ChosenPods,
  type JudgedThreshold,
  nodeCondition,
} from './built-in-policy.ts';
import { gracePeriodOf, victimsByUse } from './built-in-pods.ts';
import { isCoolingDown, isDue, overShare, type Reading } from './readings.ts';

export interface LoadKept {
  /** Above the lower bound, and above the upper one. */
  readonly soft: readonly Reading[];
  readonly hard: readonly Reading[];
  readonly namedAtMs: number;
}

export const NO_LOAD: LoadKept = { soft: [], hard: [], namedAtMs: -Infinity };

/** Katalyst's name of the figure. */
const SCOPE = 'cpu.load.1min.container';
/** Load counts tasks that wait for a disk too: some task must have waited for a CPU for so many percent of ten seconds. */
const WAITED_PERCENT = 10;

export function judgeLoad(
  load: MachineLoad,
  { nowMs, settings: { cpuLoad } }: Asked,
  before: LoadKept,
): JudgedThreshold<LoadKept> {
  const { ringSize, metPercentage, syncPeriodMs } = cpuLoad;
  const [lower, upper] = boundsOf(load, cpuLoad);
  const waits = (load.psi?.some?.avg10 ?? WAITED_PERCENT) >= WAITED_PERCENT;
  const read = (readings: readonly Reading[], bound: number) =>
    isDue(readings.at(-1), nowMs, syncPeriodMs)
      ? [...readings, { atMs: nowMs, isOver: waits && load.load1 > bound }].slice(-ringSize)
      : readings;
  const kept = { ...before, soft: read(before.soft, lower), hard: read(before.hard, upper) };
  const isMet = (readings: readonly Reading[]) => overShare(readings, ringSize) >= metPercentage;
  const met = (metType: 'HARD_MET' | 'SOFT_MET', thresholdValue: number) => ({
    kept,
    met: {
      metType,
      scope: SCOPE,
      thresholdValue,
      observedValue: load.load1,
      condition: nodeCondition('CPUPressure', 'NoSchedule'),
    },
  });
  if (isMet(kept.hard)) return met('HARD_MET', upper);
  return isMet(kept.soft) ? met('SOFT_MET', lower) : { kept };
}

/** No pod goes for the lower bound. */
export function loadVictims(
  usedCores: (pod: Pod) => number | undefined,
  { pods, topN, nowMs, settings: { cpuLoad, cpuGrace } }: AskedForPods,
  kept: LoadKept,
): ChosenPods<LoadKept> {
  const isTooSoon = isCoolingDown(kept.namedAtMs, cpuLoad.coolDownMs, nowMs);
  const chosen = isTooSoon ? [] : victimsByUse(pods, 'any', usedCores).slice(0, topN);
  if (chosen.length === 0) return { kept, pods: [] };
  const gracePeriodSeconds = gracePeriodOf(cpuGrace.gracePeriodSeconds);
  return { kept: { ...kept, namedAtMs: nowMs }, pods: chosen, gracePeriodSeconds };
}

function boundsOf({ cpus }: MachineLoad, settings: CpuLoadSettings): readonly [number, number] {
  return [cpus * settings.lowerBoundRatio, cpus * settings.upperBoundRatio];
}
