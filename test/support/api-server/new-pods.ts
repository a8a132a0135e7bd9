/** Rules for new pods that their node does not check. */
import type { Pod } from '../../../src/types/kubernetes.ts';
import type { Draft } from './context.ts';
import type { Cause } from './status-error.ts';

export function* newPodCauses({ containers = [], schedulingGates = [], nodeName }: Draft): Generator<Cause> {
  if ((containers as readonly unknown[]).length === 0)
    yield { field: 'spec.containers', message: 'Required value', reason: 'FieldValueRequired' };
  if ((schedulingGates as readonly unknown[]).length > 0 && nodeName !== undefined)
    yield {
      field: 'spec.nodeName',
      message: 'Forbidden: cannot be set until all schedulingGates have been cleared',
      reason: 'FieldValueForbidden',
    };
}

/** A pod with gates says that it is not scheduled. */
export function gated(pod: Pod, lastTransitionTime: string): Draft {
  if ((pod.spec.schedulingGates ?? []).length === 0) return pod;
  const condition = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'SchedulingGated',
    message: 'Scheduling is blocked due to non-empty scheduling gates',
    lastProbeTime: null,
    lastTransitionTime,
  };
  return { ...pod, status: { ...pod.status, conditions: [condition] } };
}
