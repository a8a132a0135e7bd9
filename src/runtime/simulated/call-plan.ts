import { MAX_TIMER_MS } from '../../types/clock.ts';
import type { ErrorKind } from '../../types/errors.ts';
import { answerTo, type Question, within } from './chance.ts';
import type { CallFaults } from './call-faults.ts';
import type { CallName, Range } from './latencies.ts';

/** What becomes of a call, as long as its caller waits for the answer. */
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

/** Whether a call that its caller has given up is carried out all the same. */
export const landsUnawaited = (value: number): boolean => answerTo('landsUnawaited', value) < 0.5;

const failureKind = (value: number): ErrorKind =>
  answerTo('failureKind', value) < 0.5 ? 'Unavailable' : 'Unknown';
