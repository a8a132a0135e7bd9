/**
 * One pass of eviction, in two questions: what is to be done (`evaluateEviction`), and which pod is evicted (`chooseVictim`). The second
 * uses figures that are taken after dead containers and unused images have been removed. What the next pass needs to know is returned as
 * a value.
 */
import type { PodReference } from '../../../types/event-recorder.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { PressureFigure } from '../../../types/page-views.ts';
import type { PodStats, Summary } from '../../../types/stats.ts';
import {
  conditionsLastObserved,
  conditionsObservedSince,
  type ConditionTimes,
  nodeConditions,
} from './node-pressure.ts';
import { type FileSystemLayout, podFsParts } from './file-system-parts.ts';
import { exceededStorageLimit, statsByUID } from './pod-usage.ts';
import {
  mergeThresholds,
  type Observations,
  observe,
  type ObservedThreshold,
  settledThresholds,
  thresholdsFirstObserved,
  thresholdsMet,
  thresholdsMetGracePeriod,
  thresholdsUpdatedStats,
} from './observations.ts';
import { describeRanking, type EvictionRanking, rankForEviction, wouldRelieve } from './ranking.ts';
import { mostUrgentShortage, type Shortage } from './shortage.ts';
import { newsOfFigures, pressureFigures, type ReportedFigures, withReported } from './pressure-figures.ts';
import type { PressureCondition } from './signals.ts';
import { type EvictionAnnotations, evictionKill, evictionMessage } from './eviction-message.ts';
import type { Threshold } from './thresholds.ts';
import { isCriticalPod } from '../pod/pod-kinds.ts';
import type { KillPodOptions } from '../termination/pod-termination.ts';

/** The grace period of a pod that is evicted for a hard threshold or for a limit of its own. */
const IMMEDIATE_GRACE_PERIOD_SECONDS = 1;

export interface EvictionSettings {
  /** The same objects in every pass: passes recognise them by that. */
  readonly thresholds: readonly Threshold[];
  /** How long a condition holds after its threshold was last met. */
  readonly pressureTransitionPeriodMs: number;
  /** The longest grace period of a pod that is evicted for a soft threshold. */
  readonly maxPodGracePeriodSeconds: number;
  /** Whether limits of local storage are enforced. */
  readonly localStorageCapacityIsolation: boolean;
  readonly layout: FileSystemLayout;
}

export interface EvictionState {
  /** Met for their grace periods in the last pass. They stay met until the minimum reclaim is reached. */
  readonly met: readonly Threshold[];
  readonly firstObserved: readonly ObservedThreshold[];
  readonly conditionsLastObserved: ConditionTimes;
  readonly observations: Observations;
  readonly told: ReportedFigures;
}

export const INITIAL_EVICTION_STATE: EvictionState = {
  met: [],
  firstObserved: [],
  conditionsLastObserved: new Map(),
  observations: new Map(),
  told: new Map(),
};

interface EndingPods {
  /** UIDs of pods that will have ended soon. Their end is awaited: no other pod is evicted for a shortage meanwhile. */
  readonly ending: ReadonlySet<string>;
  /** UIDs of evicted pods that did not end in time. They are passed over, and their end is not awaited any longer. */
  readonly unendable: ReadonlySet<string>;
}

export interface EvictionFacts extends EndingPods {
  readonly settings: EvictionSettings;
  /** Of the last pass. */
  readonly state: EvictionState;
  readonly nowMs: number;
  readonly lastEndMs?: number | undefined;
  readonly summary: Summary;
  /** Not everything was measured: signals that are not in the summary keep their last values. */
  readonly isPartial?: boolean;
  /** Those that have running containers. */
  readonly pods: readonly Pod[];
}

export interface EvictionEvaluation {
  readonly state: EvictionState;
  /** The conditions that hold. */
  readonly conditions: readonly PressureCondition[];
  /** The conditions whose thresholds are met now; the others only hold until the transition period is over. */
  readonly observedConditions: readonly PressureCondition[];
  /** Pods that exceed limits of their own. All of them are evicted, and no other pod in this pass. */
  readonly overLimit: readonly Eviction[];
  readonly shortage: Shortage | undefined;
  /** For the record: what has changed noticeably. */
  readonly figures?: readonly PressureFigure[];
}

/** How a pod is evicted, and what its status and events say. */
export interface Eviction {
  readonly pod: PodReference;
  /** Evictions are counted by it: a signal of the node, or a limit of the pod. */
  readonly signal: string;
  readonly message: string;
  readonly annotations: EvictionAnnotations;
  readonly gracePeriodSeconds: number;
  readonly kill: KillPodOptions;
  /** Why this pod. */
  readonly why: string;
}

/** The first question. Throws what `parseQuantity` throws. */
export function evaluateEviction(facts: EvictionFacts): EvictionEvaluation {
  const { settings, state, nowMs, lastEndMs, summary, isPartial = false } = facts;
  const observed = observe(summary);
  const observations = isPartial ? new Map([...state.observations, ...observed]) : observed;
  const met = metThresholds(settings.thresholds, state, observations);
  const firstObserved = thresholdsFirstObserved(met, state.firstObserved, nowMs);
  const due = thresholdsMetGracePeriod(firstObserved, nowMs);
  const observedConditions = nodeConditions(met);
  const lastObserved = conditionsLastObserved(observedConditions, state.conditionsLastObserved, nowMs);
  const overLimit = settings.localStorageCapacityIsolation ? podsOverLimit(facts) : [];
  const updated = thresholdsUpdatedStats(due, observations, state.observations);
  const acting = settledThresholds(updated, lastEndMs, nowMs);
  const figures = newsOfFigures(pressureFigures(observations, settings.thresholds), state.told, nowMs);
  const told = withReported(state.told, figures, nowMs);
  return {
    state: { met: due, firstObserved, conditionsLastObserved: lastObserved, observations, told },
    conditions: conditionsObservedSince(lastObserved, settings.pressureTransitionPeriodMs, nowMs),
    observedConditions,
    overLimit,
    shortage: overLimit.length > 0 ? undefined : mostUrgentShortage(acting, observations, settings.layout),
    ...(figures.length > 0 && { figures }),
  };
}

function metThresholds(
  thresholds: readonly Threshold[],
  state: EvictionState,
  observations: Observations,
): readonly Threshold[] {
  return mergeThresholds(
    thresholdsMet(thresholds, observations, { minReclaim: false }),
    thresholdsMet(state.met, observations, { minReclaim: true }),
  );
}

function podsOverLimit(facts: EvictionFacts): readonly Eviction[] {
  const { pods, summary, settings, ending, unendable } = facts;
  const stats = statsByUID(summary);
  return pods.flatMap((pod) => {
    const { uid } = pod.metadata;
    const measured = stats.get(uid);
    if (measured === undefined || isCriticalPod(pod) || ending.has(uid) || unendable.has(uid)) return [];
    return limitEviction(pod, measured, settings.layout);
  });
}

function limitEviction(pod: Pod, stats: PodStats, layout: FileSystemLayout): Eviction[] {
  const limit = exceededStorageLimit(pod, stats, layout);
  if (limit === undefined) return [];
  const { signal, message, used } = limit;
  const gracePeriodSeconds = IMMEDIATE_GRACE_PERIOD_SECONDS;
  const kill = evictionKill(message, gracePeriodSeconds, { isDisrupted: false });
  const why = `${signal}: ${used} > ${limit.limit}. ${message.trimEnd()}`;
  return [{ pod: referenceTo(pod), signal, message, annotations: {}, gracePeriodSeconds, kill, why }];
}

export interface VictimFacts extends EndingPods {
  readonly settings: Pick<EvictionSettings, 'layout' | 'maxPodGracePeriodSeconds'>;
  readonly shortage: Shortage;
  readonly summary: Summary;
  readonly pods: readonly Pod[];
}

export interface VictimChoice {
  readonly ranking: EvictionRanking;
  readonly eviction: Eviction | undefined;
  /** The ranking in one line. */
  readonly why: string;
}

/** The second question: the first pod of the ranking that may be evicted. Throws what `parseQuantity` throws. */
export function chooseVictim(facts: VictimFacts): VictimChoice {
  const stats = statsByUID(facts.summary);
  const ranking = rank(facts, stats);
  const why = describeRanking(ranking);
  const pod = facts.pods.find(({ metadata }) => metadata.uid === ranking.victim?.uid);
  const eviction = pod && shortageEviction(facts, pod, stats.get(pod.metadata.uid), why);
  return { ranking, eviction, why };
}

function rank(facts: VictimFacts, stats: ReadonlyMap<string, PodStats>): EvictionRanking {
  const { settings, shortage, pods, ending, unendable } = facts;
  const parts = podFsParts(shortage.threshold.signal, settings.layout);
  const candidates = rankForEviction(pods, stats, { resource: shortage.resource, parts });
  const awaited = candidates.filter(({ uid }) => ending.has(uid) && !unendable.has(uid));
  const first = candidates.find(
    (candidate) =>
      !candidate.isCritical && !unendable.has(candidate.uid) && wouldRelieve(candidate, shortage.resource),
  );
  return { shortage, candidates, awaited, victim: awaited.length > 0 ? undefined : first };
}

function shortageEviction(
  { settings, shortage }: VictimFacts,
  pod: Pod,
  stats: PodStats | undefined,
  why: string,
): Eviction {
  const gracePeriodSeconds = shortage.isHard
    ? IMMEDIATE_GRACE_PERIOD_SECONDS
    : softGracePeriodSeconds(pod, settings.maxPodGracePeriodSeconds);
  const { message, annotations } = evictionMessage(shortage, pod, stats);
  const kill = evictionKill(message, gracePeriodSeconds, { isDisrupted: true });
  const { signal } = shortage.threshold;
  return { pod: referenceTo(pod), signal, message, annotations, gracePeriodSeconds, kill, why };
}

function softGracePeriodSeconds({ spec }: Pod, maxSeconds: number): number {
  return Math.min(maxSeconds, spec.terminationGracePeriodSeconds ?? maxSeconds);
}

function referenceTo({ metadata: { name, namespace, uid } }: Pod): PodReference {
  return { name, namespace, uid };
}
