/** Conditions of plugins as taints of the node. Only taints of their prefix are ever changed or removed. */
import type { ConditionType, PluginCondition } from '../../../types/eviction-plugin.ts';
import type { Taint } from '../../../types/kubernetes.ts';
import { qualifiedNameProblems } from '../formats/qualified-name.ts';

/** A taint of a CustomNodeResource is for pods of one QoS level; one of a node has none. */
export interface QosTaint extends Taint {
  readonly qosLevel?: string;
}

export interface ConditionTaints {
  readonly taints: readonly QosTaint[];
  /** Conditions, or effects of them, that cannot become taints, by name. */
  readonly problems: readonly string[];
}

/** Those of NODE_CONDITIONs are taints of the node, those of CNR_CONDITIONs taints of its CustomNodeResource. */
export function taintsOfConditions(
  conditions: readonly PluginCondition[],
  wantedType: ConditionType = 'NODE_CONDITION',
): ConditionTaints {
  const taints = new Map<string, QosTaint>();
  const problems: string[] = [];
  for (const { name, type, effects, met } of conditions) {
    if (!met || type !== wantedType) continue;
    const key = conditionTaintKey(name);
    const [problem] = name.includes('/') ? ['its name has a slash'] : qualifiedNameProblems(key);
    if (problem !== undefined) {
      problems.push(`condition "${name}" cannot become a taint: ${problem}`);
      continue;
    }
    if (effects.length === 0) problems.push(`condition "${name}" has no effect: ${oneOfEffects()}`);
    for (const text of effects) {
      const { effect, qosLevel } = effectOf(text, type);
      if (!CONDITION_EFFECTS.includes(effect))
        problems.push(`condition "${name}" has the unknown effect "${text}": ${oneOfEffects()}`);
      else if (type === 'CNR_CONDITION' && qosLevel === undefined)
        problems.push(
          `condition "${name}" has the effect "${text}" without a QoS level: ${CNR_EFFECT_LEVEL}${text}`,
        );
      else taints.set(`${key}:${text}`, { key, effect, qosLevel });
    }
  }
  return { taints: [...taints.values()], problems };
}

/** Before an effect of a CNR_CONDITION stands the QoS level that it is for; Katalyst knows one. */
export const CNR_EFFECT_LEVEL = 'reclaimed_cores/';

function effectOf(
  text: string,
  type: ConditionType,
): { readonly effect: string; readonly qosLevel?: string } {
  if (type !== 'CNR_CONDITION' || !text.startsWith(CNR_EFFECT_LEVEL)) return { effect: text };
  return { effect: text.slice(CNR_EFFECT_LEVEL.length), qosLevel: CNR_EFFECT_LEVEL.slice(0, -1) };
}

export interface TaintFacts {
  /** Of the object. */
  readonly current: readonly QosTaint[];
  /** Of the conditions. */
  readonly wanted: readonly QosTaint[];
  /** Taints of an earlier run stay: their conditions may still count, and have not been observed in this run yet. */
  readonly keepsEarlier: boolean;
  /** RFC 3339: NoExecute counts from it. */
  readonly now: string;
}

/** The taints of the object as they should be; undefined where nothing differs. What is there already keeps its value and its time. */
export function changedTaints({
  current,
  wanted,
  keepsEarlier,
  now,
}: TaintFacts): readonly QosTaint[] | undefined {
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

function isSame(a: QosTaint, b: QosTaint): boolean {
  return a.key === b.key && a.effect === b.effect && a.qosLevel === b.qosLevel;
}

/** As Kubernetes for a node, and Katalyst for a CustomNodeResource. */
function timed(taint: QosTaint, now: string): QosTaint {
  return taint.effect === 'NoExecute' || taint.qosLevel !== undefined ? { ...taint, timeAdded: now } : taint;
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
