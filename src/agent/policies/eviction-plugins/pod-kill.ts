/** How a pod is ended for plugins: by which killer, how soon, with which texts, and when a refused request is repeated. */
import type { EvictionPluginSettings, PodKillerName } from '../../../types/node-settings.ts';
import type { PluginCondition, ThresholdMetAnswer } from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { goFloat } from '../formats/go-text.ts';
import { shortLine } from '../formats/terminal-text.ts';
import { isManifestPod } from '../pod/pod-kinds.ts';
import { effectiveGracePeriodSeconds } from '../termination/pod-termination.ts';
import type { RuledPod } from './collected-answers.ts';
import { knownQosLevel, type QosLevel, SOFT_EVICT_NOTIFY_ANNOTATION } from './qos-level.ts';

/** Katalyst's level of a pod that names none, or one that is not known. */
const DEFAULT_LEVEL: QosLevel = 'shared_cores';

/** The API server does not know a pod of a manifest, so such a pod ends through this node, whatever is set for its level. */
export function killerOf(
  pod: Pod,
  killers: EvictionPluginSettings['killers'],
  hasApiServer: boolean,
): PodKillerName {
  if (!hasApiServer || isManifestPod(pod)) return 'SyncPodKill';
  return killers[killersLevel(pod)] ?? 'EvictionAPI';
}

/** The level by which the killer is looked up. */
export function killersLevel(pod: Pod): QosLevel {
  return knownQosLevel(pod) ?? DEFAULT_LEVEL;
}

/**
 * The grace period that the pod gets. `ruledSeconds`: that of the plugin. At least 1 s: with 0 the API server would drop the object at once,
 * and another pod could take the name while the containers still run.
 */
export function killGraceSeconds(pod: Pod, ruledSeconds: number | undefined): number {
  return effectiveGracePeriodSeconds(undefined, pod, ruledSeconds);
}

/** The longest reason in status, event and log: it may join those of several plugins. */
const REASON_MAX_LENGTH = 800;

/** In the status of the pod and in its event. */
export function killMessage(plugin: string, reason: string): string {
  return `Eviction plugin ${plugin} chose this pod: ${shownReason(reason)}`;
}

export function shownReason(reason: string): string {
  return shortLine(reason, REASON_MAX_LENGTH);
}

/**
 * Why a request has not been taken. `Postponed`: it may be later (429: a disruption budget, or too many requests). `Unanswered`: there was
 * no answer, or the server could not answer, or the object changed meanwhile. `Refused`: it will be refused again until its cause is removed.
 */
export type KillRefusalKind = 'Postponed' | 'Unanswered' | 'Refused';

export interface KillRefusal {
  readonly kind: KillRefusalKind;
  /** The server's answer, and what would help. */
  readonly problem: string;
  /** How long the server asks to wait before the next request. */
  readonly askedMs?: number;
}

/** `status`: the HTTP status of the answer; undefined where there was none. */
export function refusalKind(status: number | undefined): KillRefusalKind {
  if (status === 429) return 'Postponed';
  return status === undefined || [401, 409].includes(status) || status >= 500 ? 'Unanswered' : 'Refused';
}

const DELAYS_MS: Readonly<Record<KillRefusalKind, { readonly first: number; readonly max: number }>> = {
  Postponed: { first: 5_000, max: 60_000 },
  Unanswered: { first: 1_000, max: 30_000 },
  Refused: { first: 60_000, max: 600_000 },
};
/** Up to this share is added at random, so that kills that were refused together are not asked for together. */
const JITTER = 0.1;

/** `failures`: how often in a row, this one counted. `random` is in [0, 1). */
export function killRetryMs({ kind, askedMs = 0 }: KillRefusal, failures: number, random: number): number {
  const { first, max } = DELAYS_MS[kind];
  const backOffMs = Math.min(first * 2 ** (failures - 1), max);
  return (askedMs > 0 ? askedMs : backOffMs) * (1 + JITTER * random);
}

/** What helps where the server refuses for good. */
export function killRemedy(pod: Pod, killer: PodKillerName): string {
  const right = killer === 'EvictionAPI' ? 'create pods/eviction' : 'delete pods';
  return (
    `the credentials of the node must be allowed to ${right} in namespace ${pod.metadata.namespace}, ` +
    `as those of system:nodes are; or set evictionPlugins.killers.${killersLevel(pod)} to SyncPodKill, which asks no server`
  );
}

/** The reason of the event on a pod that asks for a notice instead of being chosen. */
export const EVICTION_NOTIFIED = 'EvictionNotified';

export function noticeMessage({ plugin, reason }: Pick<RuledPod, 'plugin' | 'reason'>): string {
  return `Plugin ${plugin} would have this pod evicted: ${shownReason(reason)}. It is told, as its annotation ${SOFT_EVICT_NOTIFY_ANNOTATION} asks`;
}

export function thresholdText(
  plugin: string,
  { metType, scope, thresholdValue, observedValue, gracePeriodSeconds }: ThresholdMetAnswer,
): string {
  const kind = metType === 'SOFT_MET' ? 'soft threshold' : 'threshold';
  const values = `target ${goFloat(thresholdValue)}, observed ${goFloat(observedValue)}`;
  return `the ${kind} of ${plugin} in scope ${scope} has been met for its grace period of ${gracePeriodSeconds} s: ${values}`;
}

/** New and ended conditions, as sentences. */
export function conditionNews(
  before: readonly PluginCondition[],
  now: readonly PluginCondition[],
): readonly string[] {
  const isIn = (all: readonly PluginCondition[], wanted: string) => all.some(({ name }) => name === wanted);
  const come = now.filter(({ name }) => !isIn(before, name));
  const gone = before.filter(({ name }) => !isIn(now, name));
  return [
    ...come.map(({ name, effects }) => `condition ${name} holds (${effects.join(', ') || 'no effects'})`),
    ...gone.map(({ name }) => `condition ${name} is over`),
  ];
}
