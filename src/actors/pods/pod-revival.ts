import type { Clock } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import { type Logger, podFields } from '../../types/logger.ts';
import type { DesiredPods } from './desired-pods.ts';
import type { EffectSlots } from './effect-slots.ts';
import { interruptedEnd } from './interrupted-end.ts';
import type { PodDelivery } from './pod-delivery.ts';
import { type PodEntry, type PodRegistry, uidOfActor } from './pod-registry.ts';

/** A pod actor that failed is replaced after this time. */
const REVIVE_DELAY_MS = 1_000;

export interface PodRevivalOptions {
  readonly registry: PodRegistry;
  readonly slots: EffectSlots;
  readonly desired: DesiredPods;
  readonly delivery: PodDelivery;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Replaces pod actors that failed. */
export class PodRevival {
  readonly #options: PodRevivalOptions;

  constructor(options: PodRevivalOptions) {
    this.#options = options;
  }

  failed(actorId: string, error: unknown): void {
    const { registry, clock, logger } = this.#options;
    const entry = registry.get(uidOfActor(actorId));
    if (entry === undefined) return;
    logger.error(
      { ...podFields(entry.pod), err: error },
      `The pod's actor failed, and is started anew: ${errorMessage(error)}`,
    );
    clock.setTimeout(() => void this.#revive(entry), REVIVE_DELAY_MS);
  }

  /** Once the effect of the failed actor is at rest. A pod that was ending goes on ending (I1). */
  async #revive(entry: PodEntry): Promise<void> {
    const { registry, slots, desired, delivery } = this.#options;
    const { uid } = entry.pod;
    slots.abort(entry.actor);
    await slots.atRest(entry.actor);
    if (registry.get(uid) !== entry) return;
    registry.forget(uid);
    delivery.spawn(entry.pod);
    const pod = desired.get(uid);
    const { ending, kill } = interruptedEnd(entry);
    if (pod !== undefined && !ending) delivery.create(pod);
    else registry.send(uid, kill);
    for (const event of entry.backlog) registry.send(uid, event);
  }
}
