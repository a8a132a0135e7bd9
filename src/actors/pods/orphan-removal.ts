import type { PodNode } from '../../runtime/node/pod-node.ts';
import type { Clock } from '../../types/clock.ts';
import type { PodRemoval } from './pod-removal.ts';

const RETRY_DELAY_MS = 60_000;

export interface OrphanRemovalOptions {
  readonly node: PodNode;
  readonly clock: Clock;
  readonly removal: PodRemoval;
  /** Whether the agent knows the pod. */
  readonly isKnown: (uid: string) => boolean;
  /** Whether the runtime has something of the pod. Housekeeping removes such a pod, unless the runtime loses it before. */
  readonly isInRuntime: (uid: string) => boolean;
}

/**
 * Removes the remains of unknown pods from the node. An agent that was killed and a removal that failed leave some. This is
 * background work, done while there may be remains.
 */
export class OrphanRemoval {
  readonly #options: OrphanRemovalOptions;
  /** Unix ms; Infinity while there is nothing to do. */
  #dueAt = Infinity;

  constructor(options: OrphanRemovalOptions) {
    this.#options = options;
  }

  /** All sources have been seen: the remains of other pods are removed at the next turn. */
  begin(): void {
    this.#dueAt = this.#options.clock.now();
  }

  /** A removal has failed. */
  beginLater(): void {
    this.#dueAt = Math.min(this.#dueAt, this.#options.clock.now() + RETRY_DELAY_MS);
  }

  /** Called by each housekeeping. */
  turn(): void {
    if (this.#options.clock.now() < this.#dueAt) return;
    this.#dueAt = Infinity;
    void this.#remove();
  }

  async #remove(): Promise<void> {
    const { node, removal, isKnown, isInRuntime } = this.#options;
    try {
      const unknown = (await node.podsOnDisk()).filter(({ uid }) => !isKnown(uid));
      const orphans = unknown.filter(({ uid }) => !isInRuntime(uid));
      // A call of an earlier agent may still remove the pod from the runtime: then only its files are left, and this removes them.
      if (orphans.length < unknown.length) this.beginLater();
      await Promise.all(orphans.map((pod) => removal.removeFromNode(pod)));
    } catch {
      this.beginLater();
    }
  }
}
