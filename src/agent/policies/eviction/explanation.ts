/** Which pods would be evicted now, in which order, and by which figures. Nothing is evicted. */
import type { Pod } from '../../../types/kubernetes.ts';
import type { PressureFigure } from '../../../types/page-views.ts';
import type { Summary } from '../../../types/stats.ts';
import type { PluginsExplanation } from '../eviction-plugins/plugins-explanation.ts';
import { observe, thresholdsMet } from './observations.ts';
import { chooseVictim, type EvictionSettings } from './pass.ts';
import type { EvictionCandidate } from './ranking.ts';
import { mostUrgentShortage } from './shortage.ts';
import type { NodeReclaim } from './file-system-parts.ts';
import {
  type EvictionSignal,
  isPressureSignal,
  type PressureCondition,
  type StarvedResource,
} from './signals.ts';
import { isHardThreshold, type Threshold } from './thresholds.ts';
import { pressureFigures } from './pressure-figures.ts';
import { figureText } from './pressure-settings.ts';

export interface ExplainedThreshold {
  readonly signal: EvictionSignal;
  readonly isHard: boolean;
  /** How long the threshold has to be met, in seconds; 0 for a hard one. */
  readonly gracePeriodSeconds: number;
  /** With the sign of the comparison: `<500Mi`, `>20%`. Undefined if the signal is not measured on this node. */
  readonly threshold: string | undefined;
  readonly observed: string | undefined;
  readonly isMet: boolean;
  /** What would be removed before any pod is evicted. */
  readonly reclaim: readonly NodeReclaim[];
  readonly resource: StarvedResource | undefined;
  /** All pods in the order of eviction; critical ones are never evicted. */
  readonly candidates: readonly EvictionCandidate[];
  /** The pod that would be evicted, as `namespace/name`. */
  readonly victim: string | undefined;
  readonly why: string | undefined;
}

export interface EvictionExplanation {
  /** The pressure conditions that the node has now. */
  readonly conditions: readonly PressureCondition[];
  readonly thresholds: readonly ExplainedThreshold[];
  /** What the node has left. */
  readonly figures?: readonly PressureFigure[];
  /** Only where eviction plugins are enabled. */
  readonly plugins?: PluginsExplanation;
}

export interface ExplanationFacts {
  readonly settings: Pick<EvictionSettings, 'thresholds' | 'layout' | 'maxPodGracePeriodSeconds'>;
  readonly conditions: readonly PressureCondition[];
  readonly summary: Summary;
  readonly pods: readonly Pod[];
  readonly ending: ReadonlySet<string>;
  readonly unendable: ReadonlySet<string>;
}

/** Each threshold is taken as if it alone were met for its grace period. Throws what `parseQuantity` throws. */
export function explainEviction(facts: ExplanationFacts): EvictionExplanation {
  const { settings, conditions, summary } = facts;
  const { thresholds } = settings;
  return {
    conditions,
    thresholds: thresholds.map((threshold) => explained(threshold, facts)),
    figures: pressureFigures(observe(summary), thresholds),
  };
}

function explained(threshold: Threshold, facts: ExplanationFacts): ExplainedThreshold {
  const { settings, summary } = facts;
  const { signal, gracePeriodMs } = threshold;
  const observations = observe(summary);
  const shortage = observations.has(signal)
    ? mostUrgentShortage([threshold], observations, settings.layout)
    : undefined;
  const choice = shortage && chooseVictim({ ...facts, shortage });
  const victim = choice?.ranking.victim;
  return {
    signal,
    isHard: isHardThreshold(threshold),
    gracePeriodSeconds: gracePeriodMs / 1000,
    threshold: shortage && (isPressureSignal(signal) ? '>' : '<') + figureText(signal, shortage.quantity),
    observed: shortage && figureText(signal, shortage.available),
    isMet: thresholdsMet([threshold], observations, { minReclaim: false }).length > 0,
    reclaim: shortage?.reclaim ?? [],
    resource: shortage?.resource,
    candidates: choice?.ranking.candidates ?? [],
    victim: victim && `${victim.namespace}/${victim.name}`,
    why: choice?.why,
  };
}
