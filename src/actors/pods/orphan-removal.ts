import type { PodNode } from '../../runtime/node/pod-node.ts';
import { eachOf } from '../../system/promises.ts';
import type { Clock } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import { podFields, type Logger } from '../../types/logger.ts';
import type { TurnoverMeasurements } from '../../types/measurements.ts';
import type { PodRemoval } from './pod-removal.ts';

/** The kubelet looks for logs of unknown pods as often. */
const THOROUGH_SEARCH_PERIOD_MS = 60_000;
const RETRY_DELAY_MS = 60_000;
/** Each removal may take several calls of the file system and of the runtime. */
const AT_ONCE = 16;

export interface OrphanRemovalOptions {
  readonly node: Pick<PodNode, 'podsOnDisk'>;
  readonly clock: Clock;
  readonly removal: Pick<PodRemoval, 'removeFromNode'>;
  /** Whether the agent knows the pod. */
  readonly isKnown: (uid: string) => boolean;
  /** Whether the runtime has something of the pod. Housekeeping removes such a pod, with what it has on the node. */
  readonly isInRuntime: (uid: string) => boolean;
  readonly turnover?: Pick<TurnoverMeasurements, 'swept'>;
  readonly logger: Logger;
}

interface Failure {
  readonly message: string;
  /** Unix ms. */
  readonly retryAt: number;
}

/**
 * Removes what is on the node of pods that no source and no actor has: folders, mounts, cgroups with their processes, logs. An agent
 * that was killed leaves some, a removal that failed, and a call of an earlier agent that is carried out late. Each housekeeping
 * searches; what is found is removed in the background.
 */
export class OrphanRemoval {
  readonly #options: OrphanRemovalOptions;
  #isBegun = false;
  #isSearching = false;
  /** When the next thorough search is due. Unix ms. */
  #thoroughAt = 0;
  /** By UID, the pods whose removal waits or is under way. */
  readonly #removing = new Set<string>();
  /** By UID, the pods whose last removal has failed. */
  readonly #failures = new Map<string, Failure>();
  #searchProblem = '';

  constructor(options: OrphanRemovalOptions) {
    this.#options = options;
  }

  /** All sources have been seen: what other pods have on the node may be removed. */
  begin(): void {
    this.#isBegun = true;
  }

  /** Called by each housekeeping. */
  turn(): void {
    if (this.#isBegun && !this.#isSearching) void this.#searchAndRemove();
  }

  async #searchAndRemove(): Promise<void> {
    this.#isSearching = true;
    try {
      const orphans = await this.#search();
      this.#searchProblem = '';
      this.#forgetFailuresBut(orphans);
      this.#options.turnover?.swept(orphans.length, this.#failures.size);
      const due = orphans.filter(({ uid }) => this.#isDue(uid));
      for (const { uid } of due) this.#removing.add(uid);
      void eachOf(due, AT_ONCE, (pod) => this.#remove(pod));
    } catch (error) {
      this.#searchFailed(error);
    } finally {
      this.#isSearching = false;
    }
  }

  /** Only a thorough search finds all that a pod has, and its name. */
  async #search(): Promise<readonly PodReference[]> {
    const { node, clock } = this.#options;
    const isKnown = (uid: string) => this.#isNoOrphan(uid);
    if (clock.now() < this.#thoroughAt) {
      const found = await node.podsOnDisk({ isKnown, isThorough: false });
      if (!found.some(({ uid }) => this.#isDue(uid))) return found;
    }
    this.#thoroughAt = clock.now() + THOROUGH_SEARCH_PERIOD_MS;
    return node.podsOnDisk({ isKnown, isThorough: true });
  }

  async #remove(pod: PodReference): Promise<void> {
    const { uid } = pod;
    const { removal, logger } = this.#options;
    try {
      // Since the search a source may have brought the pod.
      if (!this.#isNoOrphan(uid) && (await removal.removeFromNode(pod)))
        logger.debug(podFields(pod), 'Removed what was left of an orphaned pod');
      this.#failures.delete(uid);
    } catch (error) {
      this.#failed(pod, errorMessage(error));
    } finally {
      this.#removing.delete(uid);
    }
  }

  #isNoOrphan(uid: string): boolean {
    const { isKnown, isInRuntime } = this.#options;
    return isKnown(uid) || isInRuntime(uid);
  }

  #isDue(uid: string): boolean {
    return !this.#removing.has(uid) && this.#options.clock.now() >= (this.#failures.get(uid)?.retryAt ?? 0);
  }

  /** A problem that lasts is logged once. */
  #failed(pod: PodReference, message: string): void {
    const { clock, logger } = this.#options;
    if (this.#failures.get(pod.uid)?.message !== message) {
      const text = `Cannot remove what is left of an orphaned pod, will be tried again: ${message}`;
      logger.warn(podFields(pod), text);
    }
    this.#failures.set(pod.uid, { message, retryAt: clock.now() + RETRY_DELAY_MS });
  }

  #searchFailed(error: unknown): void {
    const message = errorMessage(error);
    if (this.#searchProblem !== message)
      this.#options.logger.warn({}, `Cannot search for what is left of orphaned pods: ${message}`);
    this.#searchProblem = message;
  }

  #forgetFailuresBut(orphans: readonly PodReference[]): void {
    if (this.#failures.size === 0) return;
    const uids = new Set(orphans.map(({ uid }) => uid));
    for (const uid of this.#failures.keys()) if (!uids.has(uid)) this.#failures.delete(uid);
  }
}
