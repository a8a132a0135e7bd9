import { isManifestPod } from '../../policies/pod/pod-kinds.ts';
import { errorMessage } from '../../types/errors.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { type Logger, podFields } from '../../types/logger.ts';
import type { TurnoverMeasurements } from '../../types/measurements.ts';
import type { DesiredPods } from './desired-pods.ts';
import type { PodEnds } from './pod-ends.ts';
import type { PodRegistry } from './pod-registry.ts';
import type { PodRemoval } from './pod-removal.ts';

export interface PodRetirementOptions {
  readonly registry: PodRegistry;
  readonly desired: DesiredPods;
  readonly removal: PodRemoval;
  readonly ends: PodEnds;
  /** The pod is wanted again. */
  readonly create: (pod: Pod) => void;
  readonly turnover?: Pick<TurnoverMeasurements, 'restarted'>;
  readonly logger: Logger;
}

/** Forgets finished pods that no source wants or that are wanted anew. The latter start again. */
export class PodRetirement {
  readonly #options: PodRetirementOptions;
  /** UIDs of the pods that are being retired. */
  readonly #retiring = new Set<string>();

  constructor(options: PodRetirementOptions) {
    this.#options = options;
  }

  /** No source wants the pod any more. */
  endUnwanted(uid: string): void {
    this.#options.registry.kill(uid);
    this.retireIfDue(uid);
  }

  /** Does not wait for the next housekeeping. */
  retireIfDue(uid: string): void {
    const snapshot = this.#options.registry.get(uid)?.actor.getSnapshot();
    if (snapshot?.hasTag('finished') === true) this.finished(uid, snapshot.context.restartRequested);
  }

  /** The pod has finished: the snapshot of its actor may not show this yet. */
  finished(uid: string, restartRequested: boolean): void {
    if (restartRequested || !this.#options.desired.has(uid)) void this.retire(uid);
  }

  /** Removes the pod from the runtime first: a new pod of this UID must not find its exited containers. */
  async retire(uid: string): Promise<void> {
    const { registry, desired, ends, turnover, create } = this.#options;
    const entry = registry.get(uid);
    if (entry === undefined || this.#retiring.has(uid)) return;
    this.#retiring.add(uid);
    const isRemoved = await this.removeFromRuntime(entry.pod);
    this.#retiring.delete(uid);
    if (!isRemoved || registry.get(uid) !== entry) return;
    registry.forget(uid);
    ends.tell(entry.pod, 'Forgotten');
    const wanted = desired.get(uid);
    if (wanted === undefined) return;
    turnover?.restarted(isManifestPod(wanted));
    create(wanted);
  }

  /** Resolves to false where it failed, or is under way already. */
  async removeFromRuntime(pod: PodReference): Promise<boolean> {
    const { removal, logger } = this.#options;
    try {
      return await removal.remove(pod);
    } catch (error) {
      const message = `Cannot remove what is left of the pod, will be tried again: ${errorMessage(error)}`;
      logger.warn(podFields(pod), message);
      return false;
    }
  }
}
