import type { CallName } from './latencies.ts';
import type { SimulatedSandbox } from './simulated-sandbox.ts';
import type { CallUnderWay } from './witness.ts';

/** A call that can be ended from outside. */
export interface OpenCall extends CallUnderWay {
  /** The caller's process is gone: the call is not answered. */
  cut(): void;
  /** The caller has closed its connection. */
  close(): void;
  /** The runtime goes down. */
  breakOff(): void;
}

/** What a runtime knows of one pod. Calls about the node or an image, not a pod, have such an entry too. */
export class SimulatedPod {
  readonly uid: string;
  readonly sandboxes: SimulatedSandbox[] = [];
  readonly calls = new Set<OpenCall>();
  /** Unix milliseconds, when the latest event of the pod is due: no later event may come before it. */
  lastEventAt = 0;
  /** Sends the next event: one for each timer that is armed. */
  readonly eventsToTell: (() => void)[] = [];
  readonly #ordinals: Partial<Record<Counted, number>> = {};

  constructor(uid: string) {
    this.uid = uid;
  }

  /** Counts one more, and returns how many there have been. */
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
