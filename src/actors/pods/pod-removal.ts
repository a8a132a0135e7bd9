import type { Pleg } from '../../runtime/pleg/pleg.ts';
import type { PodNode } from '../../runtime/node/pod-node.ts';
import type { PodRuntime } from '../../runtime/pods/pod-runtime.ts';
import type { PodReference } from '../../types/event-recorder.ts';

/** Removes the remains of ended pods from the runtime and the node, in the background, one removal per pod at a time. */
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

  /** The removal under way for that UID, if any. It resolves when the removal ends, also if it fails. The UID must not start before. */
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

  /**
   * Removes from the node the remains of an unknown pod, unless the runtime says that it has the pod: then housekeeping ends the pod
   * first. Resolves and rejects as `remove` does.
   */
  async removeFromNode(pod: PodReference): Promise<boolean> {
    return this.#alone(pod, async () => {
      if (await this.#pleg.isAbsent(pod)) await this.#node.remove(pod);
    });
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
