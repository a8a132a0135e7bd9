/** Decides whether a resize is granted: the spec of a pod requests other resources than were granted. */
import type { Pod } from '../../../types/kubernetes.ts';
import type { PodAllocation } from '../../../types/runtime-pod.ts';
import { goJSON } from '../formats/go-text.ts';
import { allocationFromPod, isAllocated, withoutEmpty } from './allocation.ts';
import {
  RESIZE_FAILED,
  type ResizeConditions,
  withInProgress,
  withoutInProgress,
  withoutPending,
  withPending,
} from './resize-conditions.ts';

export interface ResizeEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason:
    | 'ResizeStarted'
    | 'ResizeCompleted'
    | 'ResizeDeferred'
    | 'ResizeInfeasible'
    | 'ResizeError';
  readonly message: string;
}

export interface ResizeState {
  readonly allocation: PodAllocation;
  readonly conditions: ResizeConditions;
}

export interface ResizeDecision extends ResizeState {
  /** The allocation is a new one. */
  readonly resized: boolean;
  readonly events: readonly ResizeEvent[];
}

/**
 * Why the node does not grant a resize. `Infeasible` is final until the spec changes; after any other reason it is tried again.
 */
export interface ResizeRefusal {
  readonly reason: string;
  readonly message: string;
}

/** `refuse` is called only if the spec differs from what was granted. `now`: RFC 3339. */
export function decideResize(
  desired: Pod,
  { allocation, conditions }: ResizeState,
  refuse: () => ResizeRefusal | undefined,
  now: string,
): ResizeDecision {
  const unchanged = { allocation, conditions, resized: false, events: [] };
  if (isAllocated(desired, allocation)) return { ...unchanged, conditions: withoutPending(conditions) };
  const { generation = 0 } = desired.metadata;
  const refusal = refuse();
  if (refusal === undefined) {
    const begun = { reason: '', message: '', observedGeneration: generation };
    return {
      allocation: allocationFromPod(desired),
      // Without the error of an earlier resize, and with this generation.
      conditions: withInProgress({}, begun, now).conditions,
      resized: true,
      events: [resizeEvent('Normal', 'ResizeStarted', 'started', desired, generation)],
    };
  }
  const { reason, message } = refusal;
  // As with the kubelet, a refusal without a reason changes no condition.
  if (reason === '') return unchanged;
  const pending = withPending(conditions, { reason, message, observedGeneration: generation }, now);
  const eventReason = reason === 'Infeasible' ? 'ResizeInfeasible' : 'ResizeDeferred';
  const event = resizeEvent('Warning', eventReason, reason, desired, generation, message);
  return { ...unchanged, conditions: pending.conditions, events: pending.changed ? [event] : [] };
}

/** Ends the progress if the containers have all values by now. `pod`: as allocated. */
export function progressOfResize(
  pod: Pod,
  conditions: ResizeConditions,
  isInProgress: boolean,
  now: string,
): { readonly conditions: ResizeConditions; readonly events: readonly ResizeEvent[] } {
  const { generation = 0 } = pod.metadata;
  if (isInProgress) {
    const going = { reason: '', message: '', observedGeneration: generation };
    return { conditions: withInProgress(conditions, going, now).conditions, events: [] };
  }
  const { inProgress } = conditions;
  if (inProgress === undefined) return { conditions, events: [] };
  const done = resizeEvent('Normal', 'ResizeCompleted', 'completed', pod, inProgress.observedGeneration ?? 0);
  return { conditions: withoutInProgress(conditions), events: [done] };
}

/** The resize failed, in the runtime or before. `pod`: as allocated. */
export function failedResize(
  pod: Pod,
  conditions: ResizeConditions,
  message: string,
  now: string,
): { readonly conditions: ResizeConditions; readonly events: readonly ResizeEvent[] } {
  const { generation = 0 } = pod.metadata;
  const news = { reason: RESIZE_FAILED, message, observedGeneration: generation };
  const { conditions: failed, changed } = withInProgress(conditions, news, now);
  const about = failed.inProgress?.observedGeneration ?? generation;
  const event = resizeEvent('Warning', 'ResizeError', 'error', pod, about, message);
  return { conditions: failed, events: changed ? [event] : [] };
}

function resizeEvent(
  type: ResizeEvent['type'],
  reason: ResizeEvent['reason'],
  what: string,
  { spec }: Pod,
  generation: number,
  error?: string,
): ResizeEvent {
  const summary = (containers: Pod['spec']['containers'] = []) =>
    containers.length > 0
      ? containers.map(({ name, resources }) => ({ name, resources: withoutEmpty(resources) }))
      : undefined;
  const { initContainers, containers } = spec;
  const about = {
    initContainers: summary(initContainers),
    containers: summary(containers),
    generation,
    error: error === '' ? undefined : error,
  };
  return { type, reason, message: `Pod resize ${what}: ${goJSON(about)}` };
}
