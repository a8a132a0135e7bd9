import type { AnyActorRef } from 'xstate';
import type { PodEvent } from '../../machines/pod-machine.ts';

interface Slot {
  readonly controller: AbortController;
  readonly rest: Promise<void>;
}

export interface Effect {
  /** Resolves to the event that says how it ended; once it settles, nothing of the effect is in flight. */
  readonly run: (signal: AbortSignal) => Promise<PodEvent>;
  /** The event for an effect that rejects, unless it was aborted: that is AT_REST. */
  readonly failed: (error: unknown) => PodEvent;
}

/** The effect in flight of each pod actor: at most one (I5), which ends with exactly one event. */
export class EffectSlots {
  readonly #slots = new Map<AnyActorRef, Slot>();
  #closed = false;

  start(actor: AnyActorRef, effect: Effect): void {
    if (this.#closed) return;
    if (this.#slots.has(actor)) throw new Error('an effect of this pod is in flight already (I5)');
    const controller = new AbortController();
    const rest = this.#run(actor, effect, controller.signal);
    this.#slots.set(actor, { controller, rest });
  }

  /** Asks the effect in flight to come to rest; its event still comes. */
  abort(actor: AnyActorRef): void {
    this.#slots.get(actor)?.controller.abort();
  }

  /** Resolves when the effect that the actor has in flight now, if any, has ended. */
  async atRest(actor: AnyActorRef): Promise<void> {
    await this.#slots.get(actor)?.rest;
  }

  /** Aborts all effects, and starts none any more; resolves when nothing is in flight. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { controller } of this.#slots.values()) controller.abort();
    await Promise.all([...this.#slots.values()].map(({ rest }) => rest));
  }

  async #run(actor: AnyActorRef, effect: Effect, signal: AbortSignal): Promise<void> {
    let outcome: PodEvent;
    try {
      // The slot is taken before the effect takes its first step.
      await Promise.resolve();
      outcome = await effect.run(signal);
    } catch (error) {
      outcome = signal.aborted ? { type: 'AT_REST' } : effect.failed(error);
    }
    this.#slots.delete(actor);
    actor.send(outcome);
  }
}
