/** Conditions of plugins as taints of the node. Only taints of this prefix are ever changed or removed. */
import type { PluginCondition } from '../../types/eviction/eviction-plugin.ts';
import type { Taint } from '../../types/kubernetes.ts';
import { qualifiedNameProblems } from '../formats/qualified-name.ts';

const PREFIX = 'katalyst.kubewharf.io/';
const EFFECTS: ReadonlySet<string> = new Set(['NoSchedule', 'PreferNoSchedule', 'NoExecute']);

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
    const key = PREFIX + name;
    const [problem] = name.includes('/') ? ['its name has a slash'] : qualifiedNameProblems(key);
    if (problem !== undefined) {
      problems.push(`condition "${name}" cannot become a taint: ${problem}`);
      continue;
    }
    if (effects.length === 0) problems.push(`condition "${name}" has no effect: ${oneOfEffects()}`);
    for (const effect of effects) {
      if (EFFECTS.has(effect)) taints.set(`${key}:${effect}`, { key, effect });
      else problems.push(`condition "${name}" has the unknown effect "${effect}": ${oneOfEffects()}`);
    }
  }
  return { taints: [...taints.values()], problems };
}

/**
 * The taints of the node with those of the conditions; undefined where nothing differs. What is there already keeps its value and its time.
 * `now`, RFC 3339: NoExecute counts from it.
 */
export function changedTaints(
  current: readonly Taint[],
  wanted: readonly Taint[],
  now: string,
): readonly Taint[] | undefined {
  const stays = current.filter(({ key }) => !key.startsWith(PREFIX));
  const kept = current.filter((taint) => wanted.some((other) => isSame(taint, other)));
  const added = wanted.filter((taint) => !current.some((other) => isSame(taint, other)));
  if (added.length === 0 && stays.length + kept.length === current.length) return undefined;
  const remaining = current.filter((taint) => stays.includes(taint) || kept.includes(taint));
  return [...remaining, ...added.map((taint) => timed(taint, now))];
}

function isSame(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect;
}

function timed(taint: Taint, now: string): Taint {
  return taint.effect === 'NoExecute' ? { ...taint, timeAdded: now } : taint;
}

function oneOfEffects(): string {
  return `one of ${[...EFFECTS].join(', ')} is needed`;
}

/** From one comparison to the next. */
export const TAINTS_PERIOD_MS = 5_000;

const FIRST_BACK_OFF_MS = 5_000;
const BACK_OFF_MAX_MS = 60_000;
/** Somebody must change something first. */
const REFUSED_MS = 300_000;

/** How long nothing is written after so many failures in a row. `askedMs`: what the API server asked for. */
export function taintsBackOffMs(failures: number, isRefused: boolean, askedMs = 0): number {
  if (isRefused) return REFUSED_MS;
  return Math.max(Math.min(FIRST_BACK_OFF_MS * 2 ** (failures - 1), BACK_OFF_MAX_MS), askedMs);
}
