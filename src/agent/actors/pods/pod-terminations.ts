import type { PodReference } from '../../../types/event-recorder.ts';

/** How far a pod has come on the way to its end. Forgotten: there is no actor of its UID any more. */
export type PodEnd = 'Terminated' | 'Finished' | 'Forgotten';
export type PodEndListener = (pod: PodReference, end: PodEnd) => void;

/** Passes on the ends of pods: each part of the agent that waits for an end subscribes here. */
export class PodTerminations {
  readonly #listeners: PodEndListener[] = [];
  /** By UID. */
  readonly #waiting = new Map<string, PromiseWithResolvers<undefined>>();

  /** Listeners are called in the order in which they came. */
  subscribe(listener: PodEndListener): void {
    this.#listeners.push(listener);
  }

  tell(pod: PodReference, end: PodEnd): void {
    for (const listener of this.#listeners) listener(pod, end);
    this.#waiting.get(pod.uid)?.resolve(undefined);
    this.#waiting.delete(pod.uid);
  }

  /** Resolves when the pod becomes Terminated. */
  async terminated(uid: string): Promise<void> {
    const waiting = this.#waiting.get(uid) ?? Promise.withResolvers<undefined>();
    this.#waiting.set(uid, waiting);
    await waiting.promise;
  }
}
