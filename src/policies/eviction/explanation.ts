/** Who would be evicted now, in which order, and by which figures: for people who ask. Nobody is. */
import type { Pod } from '../../types/kubernetes.ts';
import type { Summary } from '../../types/stats.ts';
import { thresholdsMet } from './met-thresholds.ts';
import { observe } from './observations.ts';
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
import { figureText } from './pressure-settings.ts';

export interface ExplainedThreshold {
  readonly signal: EvictionSignal;
  readonly isHard: boolean;
  /** How long it has to be met, in seconds; 0 for a hard one. */
  readonly gracePeriodSeconds: number;
  /** What is compared, and with what: `<500Mi`, `>20%`. Undefined where the signal is not measured here. */
  readonly threshold: string | undefined;
  readonly observed: string | undefined;
  readonly isMet: boolean;
  /** What would be removed of the node before any pod goes. */
  readonly reclaim: readonly NodeReclaim[];
  readonly resource: StarvedResource | undefined;
  /** All pods, in the order in which they would go; critical ones never do. */
  readonly candidates: readonly EvictionCandidate[];
  /** The name of the one that would go, as `namespace/name`. */
  readonly victim: string | undefined;
  readonly why: string | undefined;
}

export interface EvictionExplanation {
  /** The conditions of pressure that the node tells of now. */
  readonly conditions: readonly PressureCondition[];
  readonly thresholds: readonly ExplainedThreshold[];
}

export interface ExplanationFacts {
  readonly settings: Pick<EvictionSettings, 'thresholds' | 'layout' | 'maxPodGracePeriodSeconds'>;
  readonly conditions: readonly PressureCondition[];
  readonly summary: Summary;
  readonly pods: readonly Pod[];
  readonly ending: ReadonlySet<string>;
  readonly unendable: ReadonlySet<string>;
}

/** Each threshold by itself, as if it were met and due. Throws what `parseQuantity` throws. */
export function explainEviction(facts: ExplanationFacts): EvictionExplanation {
  const { settings, conditions } = facts;
  return { conditions, thresholds: settings.thresholds.map((threshold) => explained(threshold, facts)) };
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
    ...{ signal, isHard: isHardThreshold(threshold), gracePeriodSeconds: gracePeriodMs / 1000 },
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
