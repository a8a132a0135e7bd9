import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';

/** The kubelet has removed what is left of a pod within a minute; a pod that comes back may have to wait before it starts. */
const KEPT_MS = 10 * 60_000;
/** The oldest are forgotten first. */
const PODS_MAX = 1000;
/** An API server makes random UIDs, none twice. */
const SERVER_UID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u;

export interface PodInstances {
  readonly uid: string;
  /** By container name. */
  readonly instances: Readonly<Record<string, number>>;
  /** Unix ms. */
  readonly endedAt: number;
}

/** Where the next agent finds them. */
export interface InstanceCountsStore {
  readonly stored: readonly PodInstances[];
  write(pods: readonly PodInstances[]): Promise<void>;
}

/**
 * How many instances the containers of removed pods have had. A pod of a manifest has the same UID when its manifest comes back, and
 * its containers count on, as with the kubelet, which finds the ended ones.
 */
export class InstanceCounts {
  readonly #context: AgentContext;
  readonly #store: InstanceCountsStore | undefined;
  /** By UID; the pod that ended last comes last. */
  readonly #pods = new Map<string, PodInstances>();
  #warned = false;

  /** Without a store, they are forgotten when the agent stops. */
  constructor(context: AgentContext, store?: InstanceCountsStore) {
    this.#context = context;
    this.#store = store;
    for (const pod of store?.stored ?? []) this.#pods.set(pod.uid, pod);
    this.collectGarbage();
  }

  /** The containers of the pod are about to be removed. Resolves when a next agent will know of them too, or cannot. */
  async note(uid: string, { containers }: Pick<RuntimePodStatus, 'containers'>): Promise<void> {
    if (containers.length === 0 || SERVER_UID.test(uid)) return;
    const instances = { ...this.#pods.get(uid)?.instances };
    for (const { name, restartCount } of containers)
      instances[name] = Math.max(instances[name] ?? 0, restartCount + 1);
    this.#pods.delete(uid);
    this.#pods.set(uid, { uid, instances, endedAt: this.#context.clock.now() });
    this.collectGarbage();
    await this.#write();
  }

  instances(uid: string, container: string): number {
    return this.#pods.get(uid)?.instances[container] ?? 0;
  }

  collectGarbage(): void {
    for (const [uid, { endedAt }] of this.#pods) {
      if (endedAt + KEPT_MS >= this.#context.clock.now() && this.#pods.size <= PODS_MAX) break;
      this.#pods.delete(uid);
    }
  }

  async #write(): Promise<void> {
    try {
      await this.#store?.write([...this.#pods.values()]);
      this.#warned = false;
    } catch (error) {
      if (this.#warned) return;
      this.#warned = true;
      const message = `Cannot keep how often containers of removed pods have run, they count anew under the next agent: ${errorMessage(error)}`;
      this.#context.logger.warn({}, message);
    }
  }
}
