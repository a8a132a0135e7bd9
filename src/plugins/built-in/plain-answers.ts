import type { NamedPod, ThresholdMetAnswer, TopEvictionPodsAnswer } from '../../types/eviction-plugin.ts';
import type { Pod } from '../../types/kubernetes.ts';

export const NOT_MET: ThresholdMetAnswer<NamedPod> = {
  metType: 'NOT_MET',
  scope: '',
  thresholdValue: 0,
  observedValue: 0,
  gracePeriodSeconds: 0,
  candidatePods: [],
};

export const NO_PODS: TopEvictionPodsAnswer<NamedPod> = { targetPods: [] };

export function named({ metadata: { namespace, name, uid }, spec: { nodeName = '' } }: Pod): NamedPod {
  return { namespace, name, uid, nodeName };
}

export function topPods(
  pods: readonly Pod[],
  gracePeriodSeconds: number | undefined,
): TopEvictionPodsAnswer<NamedPod> {
  return { targetPods: pods.map(named), ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }) };
}
