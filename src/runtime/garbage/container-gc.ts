import {
  type ContainerGarbage,
  containerGarbage,
  type ContainerGCPolicy,
  type IsPodRemovable,
  sandboxGarbage,
} from '../../policies/garbage/dead-containers.ts';
import type { Clock } from '../../types/clock.ts';
import type { Container, PodSandbox } from '../../types/cri.ts';
import { errorKind, errorMessage, StateletError } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';
import type { RuntimeService } from '../service/runtime-service.ts';

export interface ContainerGCOptions {
  readonly runtime: RuntimeService;
  readonly clock: Clock;
  readonly logger: Pick<Logger, 'debug' | 'warn'>;
  readonly policy: ContainerGCPolicy;
  /** Must say no until every source of pods has been seen. */
  readonly isPodRemovable: IsPodRemovable;
  /** Before the container itself goes. */
  readonly removeContainerLogs?: (container: Container) => Promise<void>;
  /** At the end: the logs of pods that are gone, links that lead nowhere of containers that are not in use. */
  readonly removeOrphanedLogs?: (isInUse: (containerId: string) => boolean) => Promise<void>;
}

/** How long a container of which the runtime does not know whether it runs gets to stop. */
const UNKNOWN_STOP_SECONDS = 30;

/**
 * Removes dead containers and sandboxes that are of no use any more. A pod that is synced has its dead containers pruned
 * right then; this finds what no sync will see: of pods that are gone, of an agent that was killed, of a removal that
 * failed, beyond the limit of the node. Both may remove the same one: that is no error.
 */
export class ContainerGC {
  readonly #options: ContainerGCOptions;
  /** Of which the runtime knew nothing at the last collection. */
  #unknown: ReadonlySet<string> = new Set();

  constructor(options: ContainerGCOptions) {
    this.#options = options;
  }

  /** One thing at a time; gives up what is under way once `signal` aborts. Rejects when the runtime does not answer. */
  async collect(signal: AbortSignal = NEVER): Promise<void> {
    const { runtime, clock, policy, isPodRemovable, removeOrphanedLogs } = this.#options;
    const containers = await runtime.listContainers(undefined, { signal });
    const garbage = containerGarbage({ containers, now: clock.now(), isPodRemovable }, policy);
    const removed = await this.#each(garbage, signal, (item) => this.#removeContainer(item, signal));

    const left = containers.filter(({ id }) => !removed.has(id));
    const sandboxes = await runtime.listPodSandbox(undefined, { signal });
    const orphans = sandboxGarbage(sandboxes, { containers: left, isPodRemovable });
    await this.#each(orphans, signal, (sandbox) => this.#removeSandbox(sandbox, signal));
    signal.throwIfAborted();
    await removeOrphanedLogs?.(this.#isInUse(containers));
  }

  /** A container that was created after the others were listed is not among them: to be gone it must be missing twice. */
  #isInUse(containers: readonly Container[]): (id: string) => boolean {
    const states = new Map(containers.map(({ id, state }) => [id, state]));
    const missingBefore = this.#unknown;
    const missing = new Set<string>();
    this.#unknown = missing;
    return (id) => {
      if (states.has(id)) return states.get(id) !== 'CONTAINER_EXITED';
      missing.add(id);
      return !missingBefore.has(id);
    };
  }

  /** The ids of what has been removed; undefined of what `remove` left alone. What fails is tried next time. */
  async #each<T>(
    garbage: readonly T[],
    signal: AbortSignal,
    remove: (item: T) => Promise<string | undefined>,
  ): Promise<ReadonlySet<string>> {
    const removed = new Set<string>();
    for (const item of garbage) {
      signal.throwIfAborted();
      try {
        const id = await remove(item);
        if (id !== undefined) removed.add(id);
      } catch (error) {
        signal.throwIfAborted();
        // The rest would wait as long, each by itself.
        if (NO_ANSWER.has(errorKind(error))) throw error;
        this.#options.logger.warn({}, errorMessage(error));
      }
    }
    return removed;
  }

  async #removeContainer(
    { container, podUid, withPod }: ContainerGarbage,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { runtime, logger, isPodRemovable, removeContainerLogs } = this.#options;
    const { id, state, metadata } = container;
    // Removing the others took its time: the pod may have come back.
    if (withPod && !isPodRemovable(podUid)) return undefined;
    logger.debug({ container: id, uid: podUid }, `Removing dead container ${metadata.name}`);
    await named(`remove dead container ${metadata.name} (${id}) of pod ${podUid}`, async () => {
      if (state === 'CONTAINER_UNKNOWN') await runtime.stopContainer(id, UNKNOWN_STOP_SECONDS, { signal });
      await removeContainerLogs?.(container);
      await runtime.removeContainer(id, { signal });
    });
    return id;
  }

  async #removeSandbox({ id, metadata }: PodSandbox, signal: AbortSignal): Promise<string> {
    const { runtime, logger } = this.#options;
    logger.debug({ sandbox: id, uid: metadata.uid }, `Removing dead sandbox of ${metadata.name}`);
    await named(`remove sandbox ${id} of pod ${metadata.uid}`, async () => {
      // Not ready is not stopped: its network may still be there.
      await runtime.stopPodSandbox(id, { signal });
      await runtime.removePodSandbox(id, { signal });
    });
    return id;
  }
}

const NEVER = new AbortController().signal;
const NO_ANSWER: ReadonlySet<string> = new Set(['Unavailable', 'DeadlineExceeded']);

async function named(what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw new StateletError(errorKind(error), `Failed to ${what}: ${errorMessage(error)}`, { cause: error });
  }
}
