/**
 * What a built-in eviction plugin decides. Policies are pure: they get the figures that were read for a question, and what they themselves
 * have kept from the one before.
 */
import type { BuiltInSettings } from '../../../../types/built-in-thresholds.ts';
import type { EvictPod, PluginCondition, ThresholdMetAnswer } from '../../../../types/eviction-plugin.ts';
import type { Pod } from '../../../../types/kubernetes.ts';

export interface Asked {
  readonly pods: readonly Pod[];
  /** As they are now. */
  readonly settings: BuiltInSettings;
  readonly nowMs: number;
}

/** A threshold that has been confirmed wants pods. */
export interface AskedForPods extends Asked {
  readonly scope: string;
  /** 0: those that are notified, and not evicted. */
  readonly topN: number;
}

export type MetThreshold = Pick<
  ThresholdMetAnswer,
  'metType' | 'scope' | 'thresholdValue' | 'observedValue' | 'condition'
> & { readonly gracePeriodSeconds?: number };

export interface JudgedThreshold<Kept> {
  readonly kept: Kept;
  readonly met?: MetThreshold | undefined;
}

export interface ChosenPods<Kept> {
  readonly kept: Kept;
  /** The first one goes first. */
  readonly pods: readonly Pod[];
  readonly gracePeriodSeconds?: number | undefined;
}

export interface Candidates<Kept> {
  readonly kept: Kept;
  readonly evictPods: readonly EvictPod[];
  readonly condition?: PluginCondition | undefined;
}

export function nodeCondition(name: string, effect: 'NoSchedule' | 'PreferNoSchedule'): PluginCondition {
  return { name, type: 'NODE_CONDITION', effects: [effect], met: true };
}
