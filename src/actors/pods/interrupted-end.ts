import type { PodEvent } from '../../machines/pod-context.ts';
import { RUNTIME_ONLY_GRACE_PERIOD_SECONDS } from '../../policies/termination/pod-termination.ts';
import type { PodEntry } from './pod-registry.ts';

/** Whether a failed actor was on its way to the pod's end, and the kill that takes the next one there. */
export function interruptedEnd({ actor }: PodEntry): { ending: boolean; kill: PodEvent } {
  const snapshot = actor.getSnapshot();
  const { pod, gracePeriodSeconds, evicted, statusOverride } = snapshot.context;
  const options = {
    podTerminationGracePeriodSecondsOverride: gracePeriodSeconds ?? RUNTIME_ONLY_GRACE_PERIOD_SECONDS,
    evict: evicted,
    ...(statusOverride && { podStatus: statusOverride }),
  };
  return {
    ending: snapshot.hasTag('terminationRequested'),
    kill: { type: 'SyncPodKill', ...(pod && { pod }), options },
  };
}
