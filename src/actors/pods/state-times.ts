import type { Clock } from '../../types/clock.ts';
import { stateName } from '../transitions.ts';
import type { PodEntry, PodObserver } from './pod-registry.ts';

interface Stay {
  readonly state: string;
  readonly sinceMs: number;
}

/** Since when the chart of each pod is in its state. A state that is entered anew from itself counts on. */
export class StateTimes implements PodObserver {
  readonly #clock: Clock;
  readonly #stays = new WeakMap<object, Stay>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** In Unix milliseconds. */
  since({ actor }: PodEntry): number | undefined {
    return this.#stays.get(actor)?.sinceMs;
  }

  spawned({ actor }: PodEntry): void {
    // The registry's parent hears of the failure of an actor.
    actor.subscribe({ next: ({ value }) => this.#seen(actor, stateName(value)), error: () => undefined });
  }

  sent(): void {
    // Only the states matter.
  }

  #seen(actor: object, state: string): void {
    if (this.#stays.get(actor)?.state !== state)
      this.#stays.set(actor, { state, sinceMs: this.#clock.now() });
  }
}
