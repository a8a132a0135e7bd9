import { RejectedError } from '../../../policies/admission/rejection.ts';
import { limitRejection } from '../../../policies/volumes/csi-attachment.ts';
import { uniqueVolumeName } from '../../../policies/volumes/csi-source.ts';
import { unlessAborted } from '../../../../system/promises.ts';
import type { AgentContext } from '../../../../types/agent-context.ts';
import { errorMessage } from '../../../../types/errors.ts';
import type { Pod } from '../../../../types/kubernetes.ts';
import { podFields } from '../../../../types/logger.ts';
import type { ClaimedVolumes } from '../claimed-volumes.ts';
import type { CsiMounts } from '../kinds/volume-kind.ts';

/** As with the kubelet, a pod fails only when it has waited this long. */
const PATIENCE_MS = 123_000;

export interface AttachLimitParts {
  readonly csi: Pick<CsiMounts, 'beyondLimit'> | undefined;
  readonly claims: Pick<ClaimedVolumes, 'of'> | undefined;
  /** The names of the pod's volumes that have not been set up. */
  readonly unmounted: (pod: Pod) => readonly string[];
}

/** Rejects pods that wait for a volume although the node can have no more volumes of its driver. */
export class AttachLimit {
  readonly #context: AgentContext;
  readonly #parts: AttachLimitParts;
  /** Since when pods wait for a volume, by UID. Unix ms. */
  readonly #lacking = new Map<string, number>();

  constructor(context: AgentContext, parts: AttachLimitParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /**
   * `work` sets up the pod's volumes. Rejects with its error, or because of the limit once the pod has waited for two minutes.
   */
  async enforce(pod: Pod, work: () => Promise<void>, signal: AbortSignal): Promise<void> {
    const { clock } = this.#context;
    const { uid } = pod.metadata;
    const since = this.#lacking.get(uid) ?? clock.now();
    this.#lacking.set(uid, since);
    try {
      await work();
      this.#lacking.delete(uid);
    } catch (error) {
      signal.throwIfAborted();
      if (clock.now() - since >= PATIENCE_MS) await this.#rejectBeyond(pod, signal);
      throw error;
    }
  }

  forget(uid: string): void {
    this.#lacking.delete(uid);
  }

  async #rejectBeyond(pod: Pod, signal: AbortSignal): Promise<void> {
    const { csi, claims, unmounted } = this.#parts;
    const { uid } = pod.metadata;
    const asked = csi?.beyondLimit(uid).catch((error: unknown) => {
      this.#context.logger.debug(podFields(pod.metadata), errorMessage(error));
      return undefined;
    });
    const beyond = asked && (await unlessAborted(asked, signal));
    if (beyond === undefined) return;
    const lacked = unmounted(pod);
    const unattached = lacked.filter((name) => {
      const source = claims?.of(uid, name)?.source;
      return source?.kind === 'csi' && beyond.has(uniqueVolumeName(source));
    });
    throw new RejectedError(limitRejection(lacked, unattached));
  }
}
