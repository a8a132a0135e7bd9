/** What eviction plugins answer, by the names of Katalyst's protocol `evictionplugin.v1alpha1`. */
import type { Pod } from '../../types/kubernetes.ts';

export type ConditionType = 'NODE_CONDITION' | 'CNR_CONDITION';

/** Something that a plugin says of the node. Its effects are those of taints. */
export interface PluginCondition {
  readonly name: string;
  readonly type: ConditionType;
  readonly effects: readonly string[];
  readonly met: boolean;
}

/** A pod that a plugin wants to go. */
export interface EvictPod {
  readonly pod: Pod;
  readonly reason: string;
  /** Otherwise it is one candidate among those of all plugins. */
  readonly forceEvict: boolean;
  /** Undefined: the pod's own grace period. */
  readonly gracePeriodSeconds?: number;
}

export interface GetEvictPodsAnswer {
  readonly evictPods: readonly EvictPod[];
  readonly condition?: PluginCondition;
}

export type ThresholdMetType = 'NOT_MET' | 'SOFT_MET' | 'HARD_MET';

export interface ThresholdMetAnswer {
  readonly metType: ThresholdMetType;
  /** What the threshold is about, such as `memory`. */
  readonly scope: string;
  readonly thresholdValue: number;
  readonly observedValue: number;
  /** How long it must have been met before pods are chosen. */
  readonly gracePeriodSeconds: number;
  readonly condition?: PluginCondition;
  readonly candidatePods: readonly Pod[];
}

export interface TopEvictionPodsAnswer {
  readonly targetPods: readonly Pod[];
  readonly gracePeriodSeconds?: number;
}
