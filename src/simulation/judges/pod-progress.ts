/** How far one incarnation of a pod has come, by what its actor has shown. */
import type { PodEvent } from '../../agent/machines/pod-machine.ts';
import type { PodStatusOverride } from '../../agent/policies/termination/pod-termination.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { NEW } from './pod-states.ts';

export interface PodProgress {
  readonly uid: string;
  readonly name: string;
  readonly fullName: string;
  /** Of Syncing, Terminating and Terminated: 0, 1 and 2. */
  rank: number;
  graceSeconds: number;
  /** `Syncing.Working`. */
  state: string;
  /** The agent has got its spec. False: only the runtime has the pod. */
  hasSpec: boolean;
  /** It was allowed to start. */
  hasStarted: boolean;
  readonly orders: EndOrders;
  /** The pod that the last sync was given. */
  synced: Pod | undefined;
}

export function newProgress(uid: string, fullName: string): PodProgress {
  const [name = ''] = fullName.split('_');
  return {
    uid,
    name,
    fullName,
    rank: 0,
    graceSeconds: Infinity,
    state: NEW,
    hasSpec: false,
    hasStarted: false,
    orders: new EndOrders(),
    synced: undefined,
  };
}

export function inState(progress: PodProgress | undefined): string {
  return progress === undefined ? 'for a pod that has no actor' : `in ${progress.state}`;
}

/** The shortest grace period (lifecycle 4). */
const LEAST_GRACE_SECONDS = 1;

/** The orders about a pod's end that its actor has got, by its events alone. The judge compares the chart's context with them. */
export class EndOrders {
  /** The shortest grace period that was asked for. */
  graceSeconds = Infinity;
  evicted = false;
  /** The status of the last kill that gave one (lifecycle 5). */
  status: PodStatusOverride | undefined;
  /** The pod was created again while it was ending. */
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
