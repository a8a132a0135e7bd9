import type { CallName } from './latencies.ts';

/** Probabilities, from 0 (the default) to 1. */
export interface CallFaults {
  /** Fails with Unavailable or Unknown; nothing has been done. */
  readonly fail?: number;
  /** Is done, and answered with Unavailable. */
  readonly lostAnswer?: number;
  /** Is not answered, up to the client's deadline; it lands at any time until half as long after that, or never. */
  readonly hang?: number;
  /** Takes a hundred times as long. */
  readonly slow?: number;
  /** A status call answers NotFound, whatever the lists show. */
  readonly disappear?: number;
  /** A StopPodSandbox is answered well, and nothing has been done. */
  readonly untrue?: number;
}

/** Probabilities, from 0 (the default) to 1. */
export interface EventFaults {
  readonly lost?: number;
  /** Comes up to 30 s after its time, behind all that followed. */
  readonly late?: number;
  readonly doubled?: number;
  /** Is overtaken by those that come within the next half second. */
  readonly reordered?: number;
}

/** What goes wrong in a simulated runtime, and how often. */
export interface RuntimeFaults {
  /** Of each call that `calls` does not name. */
  readonly anyCall?: CallFaults;
  readonly calls?: Readonly<Partial<Record<CallName, CallFaults>>>;
  readonly events?: EventFaults;
  /** That a sandbox dies by itself within ten minutes; half of them take their containers along. */
  readonly sandboxDeath?: number;
}

export const NO_FAULTS: RuntimeFaults = {};
