import type { Pleg } from '../runtime/pleg.ts';
import type { PodRuntime } from '../runtime/pod-runtime.ts';
import type { PodReference } from '../types/event-recorder.ts';

/** Removes what the runtime keeps of pods that have ended: background work, one removal per pod at a time. */
export class PodRemoval {
  readonly #pleg: Pleg;
  readonly #podRuntime: PodRuntime;
  readonly #removals = new Map<string, Promise<undefined>>();

  constructor(pleg: Pleg, podRuntime: PodRuntime) {
    this.#pleg = pleg;
    this.#podRuntime = podRuntime;
  }

  /** The removal of that UID, if there is one: it ends, well or not. Until then the UID must not start again. */
  underWay(uid: string): Promise<undefined> | undefined {
    return this.#removals.get(uid);
  }

  /** Resolves to true once nothing is left, to false when a removal is under way already; rejects when it failed. */
  async remove(pod: PodReference): Promise<boolean> {
    if (this.#removals.has(pod.uid)) return false;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#removals.set(pod.uid, promise);
    this.#pleg.hold(pod);
    try {
      await this.#podRuntime.removePod(pod, await this.#pleg.current(pod));
      await this.#pleg.read(pod);
      return true;
    } finally {
      this.#pleg.release(pod.uid);
      this.#removals.delete(pod.uid);
      resolve(undefined);
    }
  }
}
