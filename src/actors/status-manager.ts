import type { Pod, PodStatus } from '../types/kubernetes.ts';

/** The status of every pod as it was last reported, by UID: what `/pods` serves, and what the next one builds upon. */
export class StatusManager {
  readonly #statuses = new Map<string, PodStatus>();

  get(uid: string): PodStatus | undefined {
    return this.#statuses.get(uid);
  }

  set(uid: string, status: PodStatus): void {
    this.#statuses.set(uid, status);
  }

  /** The pod was not admitted. */
  reject(pod: Pod, { reason, message }: { reason: string; message: string }): void {
    const status = { ...pod.status, phase: 'Failed', reason, message: `Pod was rejected: ${message}` };
    this.#statuses.set(pod.metadata.uid, status);
  }

  /** The pod is wanted and could run here, but for want of room. */
  hold(pod: Pod, { reason, message }: { reason: string; message: string }): void {
    this.#statuses.set(pod.metadata.uid, { ...pod.status, phase: 'Pending', reason, message });
  }

  forget(uid: string): void {
    this.#statuses.delete(uid);
  }

  /** Drops the statuses of pods that nobody knows any more. */
  keepOnly(isKnown: (uid: string) => boolean): void {
    for (const uid of this.#statuses.keys()) if (!isKnown(uid)) this.#statuses.delete(uid);
  }
}
