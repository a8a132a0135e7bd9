/** What a simulated node is short of, by the figures that its agent received. */
import type { EvictionSignal, PressureCondition } from '../../../agent/policies/eviction/signals.ts';
import { type EvictionRules, isHard, type ThresholdRule } from '../../resources/eviction-rules.ts';
import type { NodeUse } from '../../resources/node-use.ts';

interface Watched {
  readonly rule: ThresholdRule;
  /** Met since, Unix ms. */
  since: number | undefined;
  /** It was met for its grace period in the last pass: it stays met until the minimum reclaim is reached. */
  isDue: boolean;
}

export class Shortages {
  readonly #rules: EvictionRules;
  readonly #watched: readonly Watched[];
  /** When a threshold of the condition was last met, Unix ms. */
  readonly #lastMet = new Map<PressureCondition, number>();
  /** The last value of each signal: not every pass measures everything. */
  readonly #left = new Map<EvictionSignal, number>();
  /** The signals that the last pass measured. */
  #measured: ReadonlySet<EvictionSignal> = new Set();

  constructor(rules: EvictionRules) {
    this.#rules = rules;
    this.#watched = rules.thresholds.map((rule) => ({ rule, since: undefined, isDue: false }));
  }

  /** A pass uses these figures. */
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

  /** Thresholds for which a pod has to be evicted. A signal that was not measured evicts nothing. */
  due(): readonly ThresholdRule[] {
    return this.#watched
      .filter(({ isDue, rule }) => isDue && this.#measured.has(rule.signal))
      .map(({ rule }) => rule);
  }

  /** The threshold that a pod is evicted for, or why none may be. Memory comes first, and hard thresholds before soft ones. */
  ruleFor(signal: EvictionSignal): ThresholdRule | string {
    const due = this.due();
    const rules = due.filter((rule) => rule.signal === signal);
    const rule = rules.find(isHard) ?? rules[0];
    if (rule === undefined)
      return this.#isMet(signal)
        ? 'is evicted before the grace period of the soft threshold is over'
        : `is evicted for ${signal}, of which enough is left`;
    const memory = due.find((other) => isOfMemory(other.signal) && !isOfMemory(signal));
    if (memory !== undefined) return `is evicted for ${signal}, though ${memory.signal} is short`;
    const alike = due.filter((other) => isOfMemory(other.signal) === isOfMemory(signal));
    const harder = isHard(rule) ? undefined : alike.find(isHard);
    return harder === undefined
      ? rule
      : `is evicted for the soft threshold of ${signal}, though ${harder.signal} is shorter`;
  }

  holds(condition: PressureCondition, nowMs: number): boolean {
    return nowMs < (this.#lastMet.get(condition) ?? -Infinity) + this.#rules.pressureTransitionPeriodMs;
  }

  /** Whether enough of everything is left, minimum reclaims included. */
  isOver(use: NodeUse): boolean {
    return !this.#watched.some(({ rule }) => isShort(rule, use));
  }

  #isMet(signal: EvictionSignal): boolean {
    return this.#watched.some(({ rule, since }) => rule.signal === signal && since !== undefined);
  }
}

/** Whether less is left than ends the shortage. */
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
