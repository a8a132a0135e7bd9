import type { CallName } from './latencies.ts';

/** Probabilities, from 0 (the default) to 1. */
export interface CallFaults {
  /** The call fails with Unavailable or Unknown, and changes nothing. */
  readonly fail?: number;
  /** The call is carried out, and answered with Unavailable. */
  readonly lostAnswer?: number;
  /** The call is not answered before the client's deadline. It lands at any time up to 1.5 times the deadline, or never. */
  readonly hang?: number;
  /** The call takes a hundred times as long. */
  readonly slow?: number;
  /** A status call answers NotFound, whatever the lists show. */
  readonly disappear?: number;
  /** A StopPodSandbox is answered with success, and changes nothing. */
  readonly untrue?: number;
}

/** Probabilities, from 0 (the default) to 1. */
export interface EventFaults {
  /** The event is never sent. */
  readonly lost?: number;
  /** The event comes 1 to 30 s late; later events do not wait for it. */
  readonly late?: number;
  /** The event comes twice. */
  readonly doubled?: number;
  /** Events of the next half second may come before this one. */
  readonly reordered?: number;
}

/** The faults of a simulated runtime, with their probabilities. */
export interface RuntimeFaults {
  /** For every call that `calls` does not name. */
  readonly anyCall?: CallFaults;
  readonly calls?: Readonly<Partial<Record<CallName, CallFaults>>>;
  readonly events?: EventFaults;
  /** A sandbox dies by itself within ten minutes; for half of them, the containers end with it. */
  readonly sandboxDeath?: number;
}

export const NO_FAULTS: RuntimeFaults = {};
