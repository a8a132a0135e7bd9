import type { PodEvent } from '../../machines/pod-machine.ts';
import type { PodStatusOverride } from '../../policies/sync/pod-termination.ts';

/** No stop is asked to be faster (lifecycle 4). */
const LEAST_GRACE_SECONDS = 1;

/** What a pod's actor has been told about the pod's end, by the events alone: what its chart makes of it is held against this. */
export class EndOrders {
  /** The shortest that anybody has asked for. */
  graceSeconds = Infinity;
  evicted = false;
  /** Of the last kill that gave one (lifecycle 5). */
  status: PodStatusOverride | undefined;
  /** The pod was asked for again meanwhile. */
  again = false;

  take(event: PodEvent): void {
    if ('pod' in event) this.#shorten(event.pod?.metadata.deletionGracePeriodSeconds);
    if (event.type !== 'SyncPodKill') return;
    const { podTerminationGracePeriodSecondsOverride, evict = false, podStatus } = event.options ?? {};
    this.#shorten(podTerminationGracePeriodSecondsOverride);
    this.evicted ||= evict;
    this.status = podStatus ?? this.status;
  }

  #shorten(seconds = Infinity): void {
    this.graceSeconds = Math.min(this.graceSeconds, Math.max(seconds, LEAST_GRACE_SECONDS));
  }
}
