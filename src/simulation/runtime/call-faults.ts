import { MAX_TIMER_MS } from '../../types/clock.ts';
import type { ErrorKind } from '../../types/errors.ts';
import { answerTo, type CallName, type Question, type Range, within } from './chance.ts';

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

/** The fate of a call, as long as its caller waits for the answer. */
export interface CallPlan {
  readonly fate: 'answered' | 'failed' | 'untrue' | 'answerLost' | 'hung';
  /** The error's kind, for a call that has failed. */
  readonly kind?: ErrorKind;
  /** From the beginning of the call until it lands (is carried out); Infinity: never. */
  readonly landsAfterMs: number;
  /** From its landing until the answer. */
  readonly tailMs: number;
}

export const AT_ONCE: CallPlan = { fate: 'answered', landsAfterMs: 0, tailMs: 0 };

/** Status calls: they may answer NotFound for something that lists show. */
const CAN_DISAPPEAR: ReadonlySet<CallName> = new Set(['PodSandboxStatus', 'ContainerStatus'] as const);

/** Calls whose untrue answer the agent discovers by its next read. */
const CAN_BE_UNTRUE: ReadonlySet<CallName> = new Set(['StopPodSandbox'] as const);

const SLOWNESS = 100;

/** A call that hangs may land until this multiple of the client's deadline. */
const LANDS_LATE = 1.5;

const NO_LATENCY: Range = [0, 0];

export interface CallConditions {
  readonly faults: CallFaults | undefined;
  readonly latency: Range | undefined;
  readonly timeoutMs: number;
}

/** `value` decides everything that is left to chance. */
export function planCall(
  name: CallName,
  { faults, latency, timeoutMs }: CallConditions,
  value: number,
): CallPlan {
  const happens = (question: Question & keyof CallFaults): boolean =>
    answerTo(question, value) < (faults?.[question] ?? 0);
  const slowness = happens('slow') ? SLOWNESS : 1;
  const wholeMs = slowness * within(latency ?? NO_LATENCY, answerTo('latency', value));
  const landsAfterMs = Math.floor(wholeMs * answerTo('landing', value));
  const tailMs = wholeMs - landsAfterMs;
  if (happens('fail')) return { fate: 'failed', kind: failureKind(value), landsAfterMs, tailMs };
  if (happens('disappear') && CAN_DISAPPEAR.has(name)) {
    return { fate: 'failed', kind: 'NotFound', landsAfterMs, tailMs };
  }
  if (happens('untrue') && CAN_BE_UNTRUE.has(name)) return { fate: 'untrue', landsAfterMs, tailMs };
  if (happens('hang')) {
    const longestMs = Math.min(LANDS_LATE * timeoutMs, MAX_TIMER_MS / 2);
    const lateMs = Math.floor(longestMs * answerTo('landsLate', value));
    return { fate: 'hung', landsAfterMs: landsUnawaited(value) ? landsAfterMs + lateMs : Infinity, tailMs };
  }
  return { fate: happens('lostAnswer') ? 'answerLost' : 'answered', landsAfterMs, tailMs };
}

/** Whether a call or a request that its caller has given up is carried out all the same. */
export const landsUnawaited = (value: number): boolean => answerTo('landsUnawaited', value) < 0.5;

const failureKind = (value: number): ErrorKind =>
  answerTo('failureKind', value) < 0.5 ? 'Unavailable' : 'Unknown';
