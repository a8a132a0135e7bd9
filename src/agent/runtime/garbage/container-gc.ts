import {
  type ContainerGarbage,
  containerGarbage,
  type ContainerGCPolicy,
  type IsPodRemovable,
  sandboxGarbage,
} from '../../policies/garbage/dead-containers.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { Container, PodSandbox } from '../../../types/cri.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import { type RuntimeService, unlessNotFound } from '../service/runtime-service.ts';
import { NEVER_ABORTED } from '../../../system/promises.ts';

export interface ContainerGCParts {
  readonly runtime: RuntimeService;
  readonly policy: ContainerGCPolicy;
  /** Must be false until every source of pods has been seen. */
  readonly isPodRemovable: IsPodRemovable;
  /** Is called before the container is removed. */
  readonly removeContainerLogs?: (container: Container) => Promise<void>;
  /** Is called at the end: removes links to logs that are gone, of containers that are not in use. */
  readonly removeOrphanedLogs?: (isInUse: (containerId: string) => boolean) => Promise<void>;
}

/** The grace period of a container whose state the runtime does not know. */
const UNKNOWN_STOP_SECONDS = 30;

/**
 * Removes dead containers and sandboxes that are not needed any more. The sync of a pod prunes the pod's dead containers; this removes
 * those that no sync sees: of pods that are gone, of an agent that was killed, of a removal that failed, and those above the node's
 * limit. Both may remove the same container: that is no error.
 */
export class ContainerGC {
  readonly #context: AgentContext;
  readonly #parts: ContainerGCParts;
  /** Ids of containers that the runtime did not have at the last collection. */
  #unknown: ReadonlySet<string> = new Set();

  constructor(context: AgentContext, parts: ContainerGCParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /** Removes one after another, until `signal` aborts. Rejects when the runtime does not answer. */
  async collect(signal: AbortSignal = NEVER_ABORTED): Promise<void> {
    const { runtime, policy, isPodRemovable, removeOrphanedLogs } = this.#parts;
    const containers = await runtime.listContainers(undefined, { signal });
    const garbage = containerGarbage({ containers, now: this.#context.clock.now(), isPodRemovable }, policy);
    const removed = await this.#each(garbage, signal, (item) => this.#removeContainer(item, signal));

    const left = containers.filter(({ id }) => !removed.has(id));
    const sandboxes = await runtime.listPodSandbox(undefined, { signal });
    const orphans = sandboxGarbage(sandboxes, { containers: left, isPodRemovable });
    await this.#each(orphans, signal, (sandbox) => this.#removeSandbox(sandbox, signal));
    signal.throwIfAborted();
    await removeOrphanedLogs?.(this.#isInUse(containers));
  }

  /** A new container may be missing in the list. Only a container that is missing twice in a row counts as gone. */
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

  /** Returns the ids of what has been removed. `remove` resolves to undefined for what it keeps. A failure is tried again next time. */
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
        // Every further call would have to wait as long for an answer.
        if (NO_ANSWER.has(errorKind(error))) throw error;
        this.#context.logger.warn({}, errorMessage(error));
      }
    }
    return removed;
  }

  async #removeContainer(
    { container, podUid, withPod }: ContainerGarbage,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const { runtime, isPodRemovable, removeContainerLogs } = this.#parts;
    const { id, state, metadata } = container;
    // The pod may have come back while others were being removed.
    if (withPod && !isPodRemovable(podUid)) return undefined;
    this.#context.logger.debug({ container: id, uid: podUid }, `Removing dead container ${metadata.name}`);
    await named(`remove dead container ${metadata.name} (${id}) of pod ${podUid}`, async () => {
      // If it is gone since the list was read, the log at its path may be that of a new instance.
      if (!(await unlessNotFound(runtime.containerStatus(id, { signal })))) return;
      if (state === 'CONTAINER_UNKNOWN') await runtime.stopContainer(id, UNKNOWN_STOP_SECONDS, { signal });
      await removeContainerLogs?.(container);
      await runtime.removeContainer(id, { signal });
    });
    return id;
  }

  async #removeSandbox({ id, metadata }: PodSandbox, signal: AbortSignal): Promise<string> {
    const { runtime } = this.#parts;
    this.#context.logger.debug(
      { sandbox: id, uid: metadata.uid },
      `Removing dead sandbox of ${metadata.name}`,
    );
    await named(`remove sandbox ${id} of pod ${metadata.uid}`, async () => {
      // A sandbox that is not ready may still have its network.
      await runtime.stopPodSandbox(id, { signal });
      await runtime.removePodSandbox(id, { signal });
    });
    return id;
  }
}
const NO_ANSWER: ReadonlySet<string> = new Set(['Unavailable', 'DeadlineExceeded']);

async function named(what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw new StateletError(errorKind(error), `Failed to ${what}: ${errorMessage(error)}`, { cause: error });
  }
}
