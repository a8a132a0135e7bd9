import type { PodEvent } from '../../machines/pod-machine.ts';
import { RUNTIME_ONLY_GRACE_PERIOD_SECONDS } from '../../policies/sync/pod-termination.ts';
import type { PodEntry } from './pod-registry.ts';

/** How far a failed actor was on its way to the pod's end, as kills that take the next one there again. */
export function interruptedEnd({ actor }: PodEntry): { ending: boolean; kills: readonly PodEvent[] } {
  const snapshot = actor.getSnapshot();
  const { pod, gracePeriodSeconds, evicted, statusOverride, waiters } = snapshot.context;
  const options = {
    podTerminationGracePeriodSecondsOverride: gracePeriodSeconds ?? RUNTIME_ONLY_GRACE_PERIOD_SECONDS,
    evict: evicted,
    ...(statusOverride && { podStatus: statusOverride }),
  };
  const kill = { type: 'SyncPodKill', ...(pod && { pod }), options } as const;
  return {
    ending: snapshot.hasTag('terminationRequested'),
    kills: [kill, ...waiters.map((waiter) => ({ ...kill, options: { ...options, waiter } }))],
  };
}
