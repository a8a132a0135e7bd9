import { eachOf } from '../../../system/promises.ts';
import type { PodNode } from '../../runtime/node/pod-node.ts';
import type { Pleg } from '../../runtime/pleg/pleg.ts';
import type { PodRuntime } from '../../runtime/pods/pod-runtime.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { PodReference } from '../../../types/event-recorder.ts';
import { podFields } from '../../../types/logger.ts';

/** The kubelet looks for logs of unknown pods as often. */
const THOROUGH_SEARCH_PERIOD_MS = 60_000;
const RETRY_DELAY_MS = 60_000;
/** Each removal may take several calls of the file system and of the runtime. */
const AT_ONCE = 16;

export interface PodRemovalParts {
  readonly pleg: Pleg;
  readonly podRuntime: PodRuntime;
  readonly node: Pick<PodNode, 'remove' | 'podsOnDisk'>;
  /** It may have held devices or CPUs. */
  readonly onOrphanRemoved?: () => void;
}

interface Failure {
  readonly message: string;
  /** Unix ms. */
  readonly retryAt: number;
}

/**
 * Removes what ended pods have left in the runtime and on the node, in the background, one removal per pod at a time. Orphans are remains of pods
 * that no source and no actor has: folders, mounts, cgroups with their processes, logs. They come from an agent that was killed, from a removal that
 * failed, and from a call of an earlier agent that is carried out late. Each housekeeping searches for them.
 */
export class PodRemoval {
  readonly #context: AgentContext;
  readonly #parts: PodRemovalParts;
  readonly #removals = new Map<string, Promise<undefined>>();
  #removesOrphans = false;
  #isSearching = false;
  /** When the next thorough search is due. Unix ms. */
  #thoroughAt = 0;
  /** By UID, the orphans whose removal waits or is under way. */
  readonly #orphans = new Set<string>();
  /** By UID, the orphans whose last removal has failed. */
  readonly #failures = new Map<string, Failure>();
  #searchProblem = '';

  constructor(context: AgentContext, parts: PodRemovalParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** The removal under way for that UID, if any. It resolves when the removal ends, also if it fails. No pod of the UID may start before. */
  underWay(uid: string): Promise<undefined> | undefined {
    return this.#removals.get(uid);
  }

  /** Resolves to true once nothing is left, to false when a removal is under way already; rejects when it failed. */
  async remove(pod: PodReference): Promise<boolean> {
    const { pleg, podRuntime } = this.#parts;
    return this.#alone(pod, async () => {
      pleg.hold(pod);
      try {
        await podRuntime.removePod(pod, await pleg.current(pod));
        await pleg.read(pod);
      } finally {
        pleg.release(pod.uid);
      }
    });
  }

  /**
   * Removes from the node the remains of an unknown pod, unless the runtime says that it has the pod: then housekeeping ends the pod
   * first. Resolves and rejects as `remove` does.
   */
  async removeFromNode(pod: PodReference): Promise<boolean> {
    const { pleg, node } = this.#parts;
    return this.#alone(pod, async () => {
      if (await pleg.isAbsent(pod)) await node.remove(pod);
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

  /** All sources have been seen: the remains of all other pods may be removed. */
  beginOrphans(): void {
    this.#removesOrphans = true;
  }

  /** The next housekeeping does not wait before it tries again. */
  retryOrphans(): void {
    for (const [uid, { message }] of this.#failures) this.#failures.set(uid, { message, retryAt: 0 });
  }

  /** Called by each housekeeping. `isKnown`: whether the agent knows the pod. */
  removeOrphans(isKnown: (uid: string) => boolean): void {
    // Housekeeping first ends a pod that the runtime has, and then removes its remains from the node.
    const isNoOrphan = (uid: string) => isKnown(uid) || this.#parts.pleg.runtimeHolds(uid) !== 'nothing';
    if (this.#removesOrphans && !this.#isSearching) void this.#searchAndRemove(isNoOrphan);
  }

  async #searchAndRemove(isNoOrphan: (uid: string) => boolean): Promise<void> {
    this.#isSearching = true;
    try {
      const orphans = await this.#search(isNoOrphan);
      this.#searchProblem = '';
      this.#forgetFailuresBut(orphans);
      this.#context.measurements?.turnover.swept(orphans.length, this.#failures.size);
      const due = orphans.filter(({ uid }) => this.#isDue(uid));
      for (const { uid } of due) this.#orphans.add(uid);
      void eachOf(due, AT_ONCE, (pod) => this.#removeOrphan(pod, isNoOrphan));
    } catch (error) {
      this.#searchFailed(error);
    } finally {
      this.#isSearching = false;
    }
  }

  /** Only a thorough search finds all that a pod has, and its name. */
  async #search(isKnown: (uid: string) => boolean): Promise<readonly PodReference[]> {
    const { clock } = this.#context;
    const { node } = this.#parts;
    if (clock.now() < this.#thoroughAt) {
      const found = await node.podsOnDisk({ isKnown, isThorough: false });
      if (!found.some(({ uid }) => this.#isDue(uid))) return found;
    }
    this.#thoroughAt = clock.now() + THOROUGH_SEARCH_PERIOD_MS;
    return node.podsOnDisk({ isKnown, isThorough: true });
  }

  async #removeOrphan(pod: PodReference, isNoOrphan: (uid: string) => boolean): Promise<void> {
    const { uid } = pod;
    try {
      // A source may have got the pod since the search.
      if (!isNoOrphan(uid) && (await this.removeFromNode(pod))) {
        this.#context.logger.debug(podFields(pod), 'Removed what was left of an orphaned pod');
        this.#parts.onOrphanRemoved?.();
      }
      this.#failures.delete(uid);
    } catch (error) {
      this.#failed(pod, errorMessage(error));
    } finally {
      this.#orphans.delete(uid);
    }
  }

  #isDue(uid: string): boolean {
    return !this.#orphans.has(uid) && this.#context.clock.now() >= (this.#failures.get(uid)?.retryAt ?? 0);
  }

  /** A problem that lasts is logged once. */
  #failed(pod: PodReference, message: string): void {
    const { clock, logger } = this.#context;
    if (this.#failures.get(pod.uid)?.message !== message) {
      const text = `Cannot remove what is left of an orphaned pod, will be tried again: ${message}`;
      logger.warn(podFields(pod), text);
    }
    this.#failures.set(pod.uid, { message, retryAt: clock.now() + RETRY_DELAY_MS });
  }

  #searchFailed(error: unknown): void {
    const message = errorMessage(error);
    if (this.#searchProblem !== message)
      this.#context.logger.warn({}, `Cannot search for what is left of orphaned pods: ${message}`);
    this.#searchProblem = message;
  }

  #forgetFailuresBut(orphans: readonly PodReference[]): void {
    if (this.#failures.size === 0) return;
    const uids = new Set(orphans.map(({ uid }) => uid));
    for (const uid of this.#failures.keys()) if (!uids.has(uid)) this.#failures.delete(uid);
  }
}
