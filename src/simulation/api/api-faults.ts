import { landsUnawaited } from '../runtime/call-faults.ts';
import { answerTo, type Question, within } from '../runtime/chance.ts';
import type { ApiError } from '../../agent/cluster/service/api-error.ts';
import { internalError, tooManyRequests } from './refusals.ts';

/** Probabilities, from 0 to 1, of what can go wrong between an agent and the API server. */
export interface ApiFaults {
  /** A request does not reach the server, or is answered with 429 or 500. */
  readonly fail: number;
  /** A request is carried out, and the connection breaks before the answer. */
  readonly lostAnswer: number;
  /** A request gets no answer before the client's limit; it may be carried out all the same. */
  readonly hang: number;
  /** A request takes a hundred times as long. */
  readonly slow: number;
  /** An event of a watch comes seconds late, and so do those after it. */
  readonly lateEvents: number;
  /** A watch ends early, breaks, falls silent, or needs a new list. */
  readonly brokenWatch: number;
  /** A list that may be of any version is seconds old. */
  readonly oldList: number;
  /** The authorizer learns late of pods that are bound or removed. */
  readonly lateRights: number;
}

export const NO_API_FAULTS: ApiFaults = {
  fail: 0,
  lostAnswer: 0,
  hang: 0,
  slow: 0,
  lateEvents: 0,
  brokenWatch: 0,
  oldList: 0,
  lateRights: 0,
};

/** The fate of a request, as long as its client waits. */
export interface RequestPlan {
  /** `refused`: the server answers with an error and does nothing. */
  readonly fate: 'answered' | 'unreached' | 'refused' | 'answerLost' | 'hung';
  readonly refusal?: ApiError;
  /** Until the server carries it out; Infinity: never. */
  readonly landsAfterMs: number;
  /** From then until the answer. */
  readonly tailMs: number;
}

const LATENCY_MS = [2, 10] as const;
const SLOWNESS = 100;
/** A request without an answer may be carried out until this long after it was sent. */
const LANDS_LATE_MS = 20_000;

/** `value` decides everything that is left to chance. */
export function planRequest(faults: ApiFaults, value: number): RequestPlan {
  const happens = (question: Question & keyof ApiFaults) => answerTo(question, value) < faults[question];
  const wholeMs = (happens('slow') ? SLOWNESS : 1) * within(LATENCY_MS, answerTo('latency', value));
  const landsAfterMs = Math.ceil(wholeMs * answerTo('landing', value));
  const tailMs = wholeMs - landsAfterMs;
  if (happens('fail')) return { ...failure(answerTo('failureKind', value)), landsAfterMs, tailMs };
  if (happens('hang')) {
    const lateMs = within([0, LANDS_LATE_MS], answerTo('landsLate', value));
    const lands = landsUnawaited(value) ? landsAfterMs + lateMs : Infinity;
    return { fate: 'hung', landsAfterMs: lands, tailMs };
  }
  return { fate: happens('lostAnswer') ? 'answerLost' : 'answered', landsAfterMs, tailMs };
}

function failure(answer: number): Pick<RequestPlan, 'fate' | 'refusal'> {
  if (answer < 0.4) return { fate: 'unreached' };
  return { fate: 'refused', refusal: answer < 0.7 ? tooManyRequests() : internalError() };
}
