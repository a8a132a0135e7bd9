import type { Clock } from '../../types/clock.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';

/** The kubelet has removed what is left of a pod within a minute; a pod that comes back may start later than it comes. */
const KEPT_MS = 10 * 60_000;

interface Life {
  /** By container name. */
  readonly instances: Map<string, number>;
  endedAt: number;
}

/**
 * How many instances the containers of removed pods have had. A pod of a manifest has the same UID when its manifest comes back, and
 * its containers count on, as with the kubelet, which finds the ended ones.
 */
export class PastLives {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #lives = new Map<string, Life>();

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** The containers of the pod are about to be removed. */
  note(uid: string, { containers }: Pick<RuntimePodStatus, 'containers'>): void {
    if (containers.length === 0) return;
    const life = this.#lives.get(uid) ?? { instances: new Map<string, number>(), endedAt: 0 };
    life.endedAt = this.#clock.now();
    for (const { name, restartCount } of containers)
      life.instances.set(name, Math.max(life.instances.get(name) ?? 0, restartCount + 1));
    this.#lives.set(uid, life);
  }

  instances(uid: string, container: string): number {
    return this.#lives.get(uid)?.instances.get(container) ?? 0;
  }

  collectGarbage(): void {
    for (const [uid, { endedAt }] of this.#lives)
      if (endedAt + KEPT_MS < this.#clock.now()) this.#lives.delete(uid);
  }
}
