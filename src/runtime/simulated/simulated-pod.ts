import type { CallName } from './latencies.ts';
import type { SimulatedSandbox } from './simulated-sandbox.ts';
import type { CallUnderWay } from './witness.ts';

/** A call that whoever holds it can end from outside. */
export interface OpenCall extends CallUnderWay {
  /** The caller's process is gone: it is told nothing any more. */
  cut(): void;
  /** The caller has let go of its connection. */
  close(): void;
  /** The runtime goes down. */
  breakOff(): void;
}

/** What a runtime knows of one pod; of the node, or of an image, where a call is about no pod. */
export class SimulatedPod {
  readonly uid: string;
  readonly sandboxes: SimulatedSandbox[] = [];
  readonly calls = new Set<OpenCall>();
  /** Unix milliseconds: events of one pod come in their order. */
  lastEventAt = 0;
  /** One for each timer under way. */
  readonly eventsToTell: (() => void)[] = [];
  readonly #ordinals: Partial<Record<Counted, number>> = {};

  constructor(uid: string) {
    this.uid = uid;
  }

  /** How many there have been, with this one. */
  next(what: Counted): number {
    const ordinal = (this.#ordinals[what] ?? 0) + 1;
    this.#ordinals[what] = ordinal;
    return ordinal;
  }

  isEmpty(): boolean {
    return this.sandboxes.length === 0 && this.calls.size === 0;
  }
}

type Counted = CallName | 'Event' | 'Sandbox' | 'Container';
