/** What a simulated node is short of, reckoned from the figures that its agent was told. */
import type { EvictionSignal, PressureCondition } from '../../policies/eviction/signals.ts';
import { type EvictionRules, isHard, type ThresholdRule } from '../resources/eviction-rules.ts';
import type { NodeUse } from '../resources/node-use.ts';

interface Watched {
  readonly rule: ThresholdRule;
  /** Met since, Unix ms. */
  since: number | undefined;
  /** It was met for its grace period in the last pass: it stays so until the minimum reclaim is there. */
  isDue: boolean;
}

export class Shortages {
  readonly #rules: EvictionRules;
  readonly #watched: readonly Watched[];
  /** When something that leads to the condition was last met, Unix ms. */
  readonly #lastMet = new Map<PressureCondition, number>();
  /** What was told last of each signal: not everything is looked at each time. */
  readonly #left = new Map<EvictionSignal, number>();
  /** What the last pass looked at. */
  #measured: ReadonlySet<EvictionSignal> = new Set();

  constructor(rules: EvictionRules) {
    this.#rules = rules;
    this.#watched = rules.thresholds.map((rule) => ({ rule, since: undefined, isDue: false }));
  }

  /** A pass goes by these figures. */
  evaluated({ left }: NodeUse, nowMs: number): void {
    this.#measured = new Set(left.keys());
    for (const [signal, amount] of left) this.#left.set(signal, amount);
    for (const watched of this.#watched) {
      const { rule } = watched;
      const wanted = rule.amount + (watched.isDue ? rule.minReclaim : 0);
      watched.since =
        (this.#left.get(rule.signal) ?? Infinity) < wanted ? (watched.since ?? nowMs) : undefined;
      watched.isDue = watched.since !== undefined && nowMs - watched.since >= rule.gracePeriodMs;
      if (watched.since !== undefined) this.#lastMet.set(conditionOf(rule.signal), nowMs);
    }
  }

  /** Those for which somebody has to go: nobody does for what was not looked at. */
  due(): readonly ThresholdRule[] {
    return this.#watched
      .filter(({ isDue, rule }) => isDue && this.#measured.has(rule.signal))
      .map(({ rule }) => rule);
  }

  /** By what threshold somebody goes for that, or why nobody may. Memory comes first, and what is hard before what is soft. */
  ruleFor(signal: EvictionSignal): ThresholdRule | string {
    const due = this.due();
    const rules = due.filter((rule) => rule.signal === signal);
    const rule = rules.find(isHard) ?? rules[0];
    if (rule === undefined)
      return this.#isMet(signal)
        ? 'is to go before the grace period of the soft threshold is over'
        : `is to go for ${signal}, of which enough is left`;
    const memory = due.find((other) => isOfMemory(other.signal) && !isOfMemory(signal));
    if (memory !== undefined) return `is to go for ${signal}, though ${memory.signal} is short`;
    const alike = due.filter((other) => isOfMemory(other.signal) === isOfMemory(signal));
    const harder = isHard(rule) ? undefined : alike.find(isHard);
    return harder === undefined
      ? rule
      : `is to go for the soft threshold of ${signal}, though ${harder.signal} is shorter`;
  }

  holds(condition: PressureCondition, nowMs: number): boolean {
    return nowMs < (this.#lastMet.get(condition) ?? -Infinity) + this.#rules.pressureTransitionPeriodMs;
  }

  /** By these figures there is enough of everything, minimum reclaims included. */
  isOver(use: NodeUse): boolean {
    return !this.#watched.some(({ rule }) => isShort(rule, use));
  }

  #isMet(signal: EvictionSignal): boolean {
    return this.#watched.some(({ rule, since }) => rule.signal === signal && since !== undefined);
  }
}

/** Whether less is left than has to be before the shortage is over. */
export function isShort({ signal, amount, minReclaim }: ThresholdRule, use: NodeUse): boolean {
  return leftOf(signal, use) < amount + minReclaim;
}

export function isOfMemory(signal: EvictionSignal): boolean {
  return conditionOf(signal) === 'MemoryPressure';
}

function leftOf(signal: EvictionSignal, { left }: NodeUse): number {
  return left.get(signal) ?? Infinity;
}

function conditionOf(signal: EvictionSignal): PressureCondition {
  if (signal === 'pid.available') return 'PIDPressure';
  return signal.endsWith('emory.available') ? 'MemoryPressure' : 'DiskPressure';
}
