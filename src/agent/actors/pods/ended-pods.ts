import {
  deletionKill,
  type EndedPod,
  manifestContent,
  wasDeleted,
} from '../../policies/termination/ended-pod.ts';
import { isTerminalPhase } from '../../policies/termination/pod-termination.ts';
import { createHash } from 'node:crypto';
import { equalJson } from '../../policies/formats/canonical-json.ts';
import { isLocalPod, isManifestPod } from '../../policies/pod/pod-kinds.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Pod, PodStatus } from '../../../types/kubernetes.ts';
import type { DesiredPods } from './desired-pods.ts';
import type { PodRegistry } from './pod-registry.ts';

/** Keeps the list of ended pods over restarts of the agent. */
export interface EndedPodsStore {
  /** As it was when the agent started. */
  readonly stored: readonly EndedPod[];
  write(pods: readonly EndedPod[]): Promise<void>;
}

/** For an agent that remembers nothing. */
export const NO_STORE: EndedPodsStore = { stored: [], write: () => Promise.resolve() };

export interface EndedPodsParts {
  readonly store: EndedPodsStore;
  readonly registry: Pick<PodRegistry, 'kill' | 'get'>;
  readonly desired: Pick<DesiredPods, 'get'>;
}

/**
 * The pods of manifests that have ended and stay so, also after a restart of the agent, until their manifest changes or goes away: those
 * that a person has deleted (lifecycle 13), and ordinary pods that have failed or succeeded (lifecycle 14).
 */
export class EndedPods {
  readonly #context: AgentContext;
  readonly #parts: EndedPodsParts;
  readonly #pods: Map<string, EndedPod>;
  #saving: Promise<unknown> = Promise.resolve();
  /** The next write, which has not begun. */
  #nextSave: Promise<void> | undefined;
  #isUnsaved = false;
  #isClosed = false;

  constructor(context: AgentContext, parts: EndedPodsParts) {
    this.#context = context;
    this.#parts = parts;
    this.#pods = new Map(parts.store.stored.map((pod) => [pod.uid, pod]));
  }

  /**
   * Writes the deletion to the disk before it ends the pod, so that it is not lost if the agent dies meanwhile. Resolves when the
   * pod is ending. Rejects with `NotFound`, or with `FailedPrecondition` for a pod of the API server.
   */
  async delete(uid: string, gracePeriodSeconds?: number): Promise<void> {
    const { desired, registry } = this.#parts;
    const pod = desired.get(uid);
    if (pod === undefined) throw new StateletError('NotFound', `there is no pod with the UID ${uid}`);
    refuseUnlessOfManifest(pod);
    const deleted = deletion(pod, gracePeriodSeconds, this.#pods.get(uid)?.status);
    await this.#keep(deleted);
    // Meanwhile the manifest may have changed, or the pod may have ended.
    if (this.#pods.has(uid)) registry.kill(uid, deletionKill(deleted));
  }

  /** An ordinary pod has another status. If it has failed or succeeded, this is kept; `kept` resolves then. */
  record(uid: string, status: PodStatus | undefined): void {
    const { desired, registry } = this.#parts;
    const pod = desired.get(uid);
    if (this.#isClosed || pod === undefined || !isLocalPod(pod) || !isTerminalPhase(status?.phase)) return;
    // Its manifest went away and came back: the pod that ends is not the one that is wanted.
    if (registry.get(uid)?.actor.getSnapshot().context.restartRequested === true) return;
    const before = this.#pods.get(uid);
    if (status === undefined || (before?.status !== undefined && equalJson(before.status, status))) return;
    const content = contentHash(pod);
    this.#pods.set(uid, { uid, ...before, ...(content !== undefined && { content }), status });
    this.#saveLater();
  }

  /** Resolves when all records have been written, or the write has failed. */
  async kept(): Promise<void> {
    await this.#saving;
  }

  /** Records no further ends: the agent ends together with its pods, and the next agent starts them again. */
  close(): void {
    this.#isClosed = true;
  }

  has(uid: string): boolean {
    return this.#pods.has(uid);
  }

  /** Whether a person has deleted the pod. */
  wasDeleted(uid: string): boolean {
    const ended = this.#pods.get(uid);
    return ended !== undefined && wasDeleted(ended);
  }

  /** Undefined for a pod that may start, or whose manifest has changed. */
  of(pod: Pod): EndedPod | undefined {
    const { uid } = pod.metadata;
    const ended = this.#pods.get(uid);
    if (ended === undefined || ended.content === contentHash(pod)) return ended;
    this.forget(uid);
    return undefined;
  }

  /** The pod may start again. False where it had not ended. */
  forget(uid: string): boolean {
    const hadEnded = this.#pods.delete(uid);
    if (hadEnded) this.#saveLater();
    return hadEnded;
  }

  /** Forgets the others. */
  keepOnly(isWanted: (uid: string) => boolean): void {
    const others = [...this.#pods.keys()].filter((uid) => !isWanted(uid));
    for (const uid of others) this.#pods.delete(uid);
    if (others.length > 0 || this.#isUnsaved) this.#saveLater();
  }

  async #keep(deleted: EndedPod): Promise<void> {
    const { uid } = deleted;
    const before = this.#pods.get(uid);
    this.#pods.set(uid, deleted);
    try {
      await this.#save();
    } catch (error) {
      if (this.#pods.get(uid) === deleted) {
        if (before === undefined) this.#pods.delete(uid);
        else this.#pods.set(uid, before);
      }
      const message = `the pod is not deleted, because this cannot be kept: ${errorMessage(error)}`;
      throw new StateletError('Unavailable', message, { cause: error });
    }
  }

  /** Writes one at a time, each with the newest list. */
  #save(): Promise<void> {
    this.#nextSave ??= this.#saving.then(() => {
      this.#nextSave = undefined;
      return this.#parts.store.write([...this.#pods.values()]);
    });
    const saved = this.#nextSave;
    this.#saving = saved.catch(() => undefined);
    return saved;
  }

  /** If it fails, housekeeping tries again. */
  #saveLater(): void {
    const { logger } = this.#context;
    const wasUnsaved = this.#isUnsaved;
    this.#isUnsaved = false;
    this.#save().catch((error: unknown) => {
      this.#isUnsaved = true;
      const message = `The list of ended pods cannot be written, will be tried again: ${errorMessage(error)}`;
      if (!wasUnsaved) logger.warn({}, message);
    });
  }
}

function refuseUnlessOfManifest(pod: Pod): void {
  if (isManifestPod(pod)) return;
  const { namespace, name } = pod.metadata;
  const mend = `delete it there: kubectl delete pod ${name} --namespace ${namespace}`;
  throw new StateletError(
    'FailedPrecondition',
    `pod ${namespace}/${name} belongs to the API server; ${mend}`,
  );
}

function deletion(pod: Pod, gracePeriodSeconds: number | undefined, status: PodStatus | undefined): EndedPod {
  const content = contentHash(pod);
  return {
    uid: pod.metadata.uid,
    gracePeriodSeconds,
    content,
    status,
  };
}

/** Manifests may contain secrets, so only a hash is kept. */
function contentHash(pod: Pod): string | undefined {
  const content = manifestContent(pod);
  return content === undefined ? undefined : createHash('sha256').update(content).digest('hex');
}
