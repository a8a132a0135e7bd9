/** What a plugin has answered, in the terms of the rules. */
import type {
  EvictPod,
  GetEvictPodsAnswer,
  NamedPod,
  PluginCondition,
  ThresholdMetAnswer,
  TopEvictionPodsAnswer,
} from '../../types/eviction-plugin.ts';
import type {
  Condition,
  DeletionOptions,
  EvictPodMessage,
  GetEvictPodsResponse,
  GetTopEvictionPodsResponse,
  ThresholdMetResponse,
} from '../protocol/eviction-plugin-messages.ts';

export function thresholdMetAnswer(response: ThresholdMetResponse<NamedPod>): ThresholdMetAnswer<NamedPod> {
  const { evictionScope: scope, condition, metType, candidatePods } = response;
  const { thresholdValue, observedValue, gracePeriodSeconds } = response;
  const values = { metType, scope, thresholdValue, observedValue, gracePeriodSeconds, candidatePods };
  return { ...values, ...conditionOf(condition) };
}

export function topEvictionPodsAnswer({
  targetPods,
  deletionOptions,
}: GetTopEvictionPodsResponse<NamedPod>): TopEvictionPodsAnswer<NamedPod> {
  return { targetPods, ...gracePeriodOf(deletionOptions) };
}

export function getEvictPodsAnswer({
  evictPods,
  condition,
}: GetEvictPodsResponse<NamedPod>): GetEvictPodsAnswer<NamedPod> {
  return { evictPods: evictPods.map(evictPod), ...conditionOf(condition) };
}

/** As a pod with no fields: on the wire both mean the same. */
const NO_POD: NamedPod = { namespace: '', name: '', uid: '', nodeName: '' };

function evictPod({
  pod = NO_POD,
  reason,
  forceEvict,
  deletionOptions,
}: EvictPodMessage<NamedPod>): EvictPod<NamedPod> {
  return { pod, reason, forceEvict, ...gracePeriodOf(deletionOptions) };
}

function gracePeriodOf(options: DeletionOptions | undefined): { readonly gracePeriodSeconds?: number } {
  return options ? { gracePeriodSeconds: options.gracePeriodSeconds } : {};
}

function conditionOf(condition: Condition | undefined): { readonly condition?: PluginCondition } {
  if (!condition) return {};
  const { conditionName: name, conditionType: type, effects, metCondition: met } = condition;
  return { condition: { name, type, effects, met } };
}
