/** Conditions of plugins as taints of the node. Only taints of their prefix are ever changed or removed. */
import type { PluginCondition } from '../../../types/eviction-plugin.ts';
import type { Taint } from '../../../types/kubernetes.ts';
import { qualifiedNameProblems } from '../formats/qualified-name.ts';

export interface ConditionTaints {
  readonly taints: readonly Taint[];
  /** Conditions, or effects of them, that cannot become taints, by name. */
  readonly problems: readonly string[];
}

/** Conditions of another type than NODE_CONDITION are not about the node's taints. */
export function taintsOfConditions(conditions: readonly PluginCondition[]): ConditionTaints {
  const taints = new Map<string, Taint>();
  const problems: string[] = [];
  for (const { name, type, effects, met } of conditions) {
    if (!met || type !== 'NODE_CONDITION') continue;
    const key = conditionTaintKey(name);
    const [problem] = name.includes('/') ? ['its name has a slash'] : qualifiedNameProblems(key);
    if (problem !== undefined) {
      problems.push(`condition "${name}" cannot become a taint: ${problem}`);
      continue;
    }
    if (effects.length === 0) problems.push(`condition "${name}" has no effect: ${oneOfEffects()}`);
    for (const effect of effects) {
      if (CONDITION_EFFECTS.includes(effect)) taints.set(`${key}:${effect}`, { key, effect });
      else problems.push(`condition "${name}" has the unknown effect "${effect}": ${oneOfEffects()}`);
    }
  }
  return { taints: [...taints.values()], problems };
}

export interface TaintFacts {
  /** Of the node. */
  readonly current: readonly Taint[];
  /** Of the conditions. */
  readonly wanted: readonly Taint[];
  /** Taints of an earlier run stay: their conditions may still count, and have not been observed in this run yet. */
  readonly keepsEarlier: boolean;
  /** RFC 3339: NoExecute counts from it. */
  readonly now: string;
}

/** The taints of the node as they should be; undefined where nothing differs. What is there already keeps its value and its time. */
export function changedTaints({
  current,
  wanted,
  keepsEarlier,
  now,
}: TaintFacts): readonly Taint[] | undefined {
  const remaining = current.filter(
    (taint) =>
      keepsEarlier ||
      !taint.key.startsWith(CONDITION_TAINT_PREFIX) ||
      wanted.some((other) => isSame(taint, other)),
  );
  const added = wanted.filter((taint) => !current.some((other) => isSame(taint, other)));
  if (added.length === 0 && remaining.length === current.length) return undefined;
  return [...remaining, ...added.map((taint) => timed(taint, now))];
}

function isSame(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect;
}

function timed(taint: Taint, now: string): Taint {
  return taint.effect === 'NoExecute' ? { ...taint, timeAdded: now } : taint;
}

function oneOfEffects(): string {
  return `one of ${CONDITION_EFFECTS.join(', ')} is needed`;
}

/** From one comparison to the next. */
export const TAINTS_PERIOD_MS = 5_000;

const FIRST_BACK_OFF_MS = 5_000;
const BACK_OFF_MAX_MS = 60_000;
/** After a refusal: it lasts until an administrator has changed something. */
const REFUSED_MS = 300_000;

/** How long nothing is written after so many failures in a row. `askedMs`: what the API server asked for. */
export function taintsBackOffMs(failures: number, isRefused: boolean, askedMs = 0): number {
  if (isRefused) return REFUSED_MS;
  return Math.max(Math.min(FIRST_BACK_OFF_MS * 2 ** (failures - 1), BACK_OFF_MAX_MS), askedMs);
}

/** The taints that conditions of plugins become. No other taint is ever touched. */
const CONDITION_TAINT_PREFIX = 'katalyst.kubewharf.io/';

export const CONDITION_EFFECTS: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export function conditionTaintKey(condition: string): string {
  return CONDITION_TAINT_PREFIX + condition;
}
