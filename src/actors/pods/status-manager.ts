import type { Rejection } from '../../policies/admission/rejection.ts';
import {
  admittedPodStatus,
  rejectedPodStatus,
  waitingPodStatus,
} from '../../policies/admission/refused-pod-status.ts';
import type { Pod, PodStatus } from '../../types/kubernetes.ts';

/** The status of every pod as it was last reported, by UID: what `/pods` serves, and what the next status builds upon. */
export class StatusManager {
  readonly #statuses = new Map<string, PodStatus>();
  /** Pods that are not admitted: their status says why, and nothing of containers. */
  readonly #refused = new Map<string, 'rejected' | 'held'>();

  get(uid: string): PodStatus | undefined {
    return this.#statuses.get(uid);
  }

  set(uid: string, status: PodStatus): void {
    this.#statuses.set(uid, status);
  }

  /** The pod is rejected, at `now` (RFC 3339 in whole seconds). This status is final. */
  reject(pod: Pod, rejection: Rejection, now: string): void {
    const { uid } = pod.metadata;
    this.#statuses.set(uid, rejectedPodStatus(pod, rejection, now));
    this.#refused.set(uid, 'rejected');
  }

  isRejected(uid: string): boolean {
    return this.#refused.get(uid) === 'rejected';
  }

  /** The pod waits for room. */
  hold(pod: Pod, lack: Rejection): void {
    const { uid } = pod.metadata;
    this.#statuses.set(uid, waitingPodStatus(pod, lack));
    this.#refused.set(uid, 'held');
  }

  /** The pod is admitted: its status says no more why it had to wait. */
  admit(pod: Pod): void {
    const { uid } = pod.metadata;
    if (this.#refused.delete(uid)) this.#statuses.set(uid, admittedPodStatus(pod));
  }

  forget(uid: string): void {
    this.#statuses.delete(uid);
    this.#refused.delete(uid);
  }

  /** Drops the statuses of unknown pods. */
  keepOnly(isKnown: (uid: string) => boolean): void {
    for (const uid of this.#statuses.keys()) if (!isKnown(uid)) this.forget(uid);
  }
}
