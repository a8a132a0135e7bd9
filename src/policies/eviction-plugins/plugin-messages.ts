import type { PluginCondition, ThresholdMetAnswer } from '../../types/eviction/eviction-plugin.ts';
import { goFloat } from '../formats/go-number.ts';
import type { RuledPod } from './collected-answers.ts';
import { shownReason } from './pod-kill.ts';
import { SOFT_EVICT_NOTIFY_ANNOTATION } from './qos-level.ts';

/** The reason of the event on a pod that wants to be told instead of being chosen. */
export const EVICTION_NOTIFIED = 'EvictionNotified';

export function noticeMessage({ plugin, reason }: Pick<RuledPod, 'plugin' | 'reason'>): string {
  return `Plugin ${plugin} would have this pod evicted: ${shownReason(reason)}. It is told instead, by its annotation ${SOFT_EVICT_NOTIFY_ANNOTATION}`;
}

export function thresholdText(
  plugin: string,
  { scope, thresholdValue, observedValue, gracePeriodSeconds }: ThresholdMetAnswer,
): string {
  const values = `target ${goFloat(thresholdValue)}, observed ${goFloat(observedValue)}`;
  return `the threshold of ${plugin} in scope ${scope} has been met for its grace period of ${gracePeriodSeconds} s: ${values}`;
}

/** What has come and gone, as sentences. */
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
