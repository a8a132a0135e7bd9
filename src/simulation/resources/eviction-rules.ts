/** The eviction thresholds of a simulated node in numbers. The judge uses them, and the agent gets them as configuration. */
import type { EvictionParts } from '../../agent/actors/eviction/eviction-figures.ts';
import type { FileSystemLayout } from '../../agent/policies/eviction/file-system-parts.ts';
import type { EvictionSignal } from '../../agent/policies/eviction/signals.ts';
import { parseThresholds } from '../../agent/policies/eviction/thresholds.ts';

export interface ThresholdRule {
  readonly signal: EvictionSignal;
  /** If less than this is left, the resource is short: bytes, inodes or processes. */
  readonly amount: number;
  /** 0 for a hard threshold. */
  readonly gracePeriodMs: number;
  /** How much more has to be left before the shortage is over. */
  readonly minReclaim: number;
}

export function isHard({ gracePeriodMs }: ThresholdRule): boolean {
  return gracePeriodMs === 0;
}

export interface EvictionRules {
  readonly thresholds: readonly ThresholdRule[];
  readonly layout: FileSystemLayout;
  readonly maxPodGracePeriodSeconds: number;
  readonly pressureTransitionPeriodMs: number;
}

/** Cannot be set: it is the threshold of all memory. */
const OF_ALL_PODS = 'allocatableMemory.available';

export function evictionConfiguration(rules: EvictionRules): EvictionParts['configuration'] {
  const set = rules.thresholds.filter(({ signal }) => signal !== OF_ALL_PODS);
  const hard = set.filter(isHard);
  const soft = set.filter((rule) => !isHard(rule));
  const reclaimed = set.filter(({ minReclaim }) => minReclaim > 0);
  return {
    thresholds: parseThresholds({
      evictionHard: texts(hard, ({ amount }) => String(amount)),
      evictionSoft: texts(soft, ({ amount }) => String(amount)),
      evictionSoftGracePeriod: texts(soft, ({ gracePeriodMs }) => `${String(gracePeriodMs)}ms`),
      evictionMinimumReclaim: texts(reclaimed, ({ minReclaim }) => String(minReclaim)),
      enforceNodeAllocatable: set.length < rules.thresholds.length ? ['pods'] : [],
    }),
    pressureTransitionPeriodMs: rules.pressureTransitionPeriodMs,
    maxPodGracePeriodSeconds: rules.maxPodGracePeriodSeconds,
    localStorageCapacityIsolation: true,
  };
}

function texts(
  rules: readonly ThresholdRule[],
  textOf: (rule: ThresholdRule) => string,
): Readonly<Record<string, string>> {
  return Object.fromEntries(rules.map((rule) => [rule.signal, textOf(rule)]));
}
