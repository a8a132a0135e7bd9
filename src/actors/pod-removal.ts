import type { Pleg } from '../runtime/pleg.ts';
import type { PodRuntime } from '../runtime/pod-runtime.ts';
import type { PodReference } from '../types/event-recorder.ts';

/** Removes what the runtime keeps of pods that have ended: background work, one removal per pod at a time. */
export class PodRemoval {
  readonly #pleg: Pleg;
  readonly #podRuntime: PodRuntime;
  readonly #removing = new Set<string>();

  constructor(pleg: Pleg, podRuntime: PodRuntime) {
    this.#pleg = pleg;
    this.#podRuntime = podRuntime;
  }

  /** Resolves to true once nothing is left, to false when a removal is under way already; rejects when it failed. */
  async remove(pod: PodReference): Promise<boolean> {
    if (this.#removing.has(pod.uid)) return false;
    this.#removing.add(pod.uid);
    this.#pleg.hold(pod);
    try {
      await this.#podRuntime.removePod(pod, await this.#pleg.read(pod));
      await this.#pleg.read(pod);
      return true;
    } finally {
      this.#pleg.release(pod.uid);
      this.#removing.delete(pod.uid);
    }
  }
}
