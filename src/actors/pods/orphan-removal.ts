import type { PodNode } from '../../runtime/node/pod-node.ts';
import type { Clock } from '../../types/clock.ts';
import type { PodRemoval } from './pod-removal.ts';

const RETRY_DELAY_MS = 60_000;

export interface OrphanRemovalOptions {
  readonly node: PodNode;
  readonly clock: Clock;
  readonly removal: PodRemoval;
  /** Whether there is, or may be, such a pod. */
  readonly isKnown: (uid: string) => boolean;
}

/**
 * Removes what is left on the node of pods that nobody knows: an agent that was killed leaves them, and removals that
 * failed. Background work, done when there may be something, and until nothing is.
 */
export class OrphanRemoval {
  readonly #options: OrphanRemovalOptions;
  /** Unix ms; Infinity while there is nothing to do. */
  #dueAt = Infinity;

  constructor(options: OrphanRemovalOptions) {
    this.#options = options;
  }

  /** It is known which pods are wanted: what else there is goes at the next turn. */
  begin(): void {
    this.#dueAt = this.#options.clock.now();
  }

  /** Something has been left behind. */
  beginLater(): void {
    this.#dueAt = Math.min(this.#dueAt, this.#options.clock.now() + RETRY_DELAY_MS);
  }

  /** To be called again and again. */
  turn(): void {
    if (this.#options.clock.now() < this.#dueAt) return;
    this.#dueAt = Infinity;
    void this.#remove();
  }

  async #remove(): Promise<void> {
    const { node, removal, isKnown } = this.#options;
    try {
      const orphans = (await node.podsOnDisk()).filter(({ uid }) => !isKnown(uid));
      await Promise.all(orphans.map((pod) => removal.removeFromNode(pod)));
    } catch {
      this.beginLater();
    }
  }
}
