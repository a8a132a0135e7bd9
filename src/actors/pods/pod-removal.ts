import type { Pleg } from '../../runtime/pleg/pleg.ts';
import type { PodNode } from '../../runtime/node/pod-node.ts';
import type { PodRuntime } from '../../runtime/pods/pod-runtime.ts';
import type { PodReference } from '../../types/event-recorder.ts';

/** Removes what the runtime and the node keep of pods that have ended: background work, one removal per pod at a time. */
export class PodRemoval {
  readonly #pleg: Pleg;
  readonly #podRuntime: PodRuntime;
  readonly #node: PodNode;
  readonly #removals = new Map<string, Promise<undefined>>();

  constructor(pleg: Pleg, podRuntime: PodRuntime, node: PodNode) {
    this.#pleg = pleg;
    this.#podRuntime = podRuntime;
    this.#node = node;
  }

  /** The removal of that UID, if there is one: it ends, well or not. Until then the UID must not start again. */
  underWay(uid: string): Promise<undefined> | undefined {
    return this.#removals.get(uid);
  }

  /** Resolves to true once nothing is left, to false when a removal is under way already; rejects when it failed. */
  async remove(pod: PodReference): Promise<boolean> {
    return this.#alone(pod, async () => {
      this.#pleg.hold(pod);
      try {
        await this.#podRuntime.removePod(pod, await this.#pleg.current(pod));
        await this.#pleg.read(pod);
      } finally {
        this.#pleg.release(pod.uid);
      }
    });
  }

  /** Removes what the node keeps of a pod of which the runtime has nothing. Resolves and rejects as `remove` does. */
  async removeFromNode(pod: PodReference): Promise<boolean> {
    return this.#alone(pod, () => this.#node.remove(pod));
  }

  async #alone({ uid }: PodReference, work: () => Promise<void>): Promise<boolean> {
    if (this.#removals.has(uid)) return false;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    this.#removals.set(uid, promise);
    try {
      await work();
      return true;
    } finally {
      this.#removals.delete(uid);
      resolve(undefined);
    }
  }
}
