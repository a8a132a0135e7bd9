/** Why a pod ended, or has to end, in the words that `statelet why` has for it. */
import { humanDuration } from '../formats/duration.ts';
import type { FailedRun } from '../termination/pod-termination.ts';

/** Where a pod comes from: a manifest as a static pod, a manifest as an ordinary one, or the API server. */
export type PodOrigin = 'static' | 'local' | 'api';

/**
 * - Rejected: the node did not admit it.
 * - Completed: its containers have ended by themselves.
 * - Unwanted: its source does not have it any more.
 * - AgentEnded: the agent ended its pods before it stopped.
 * - EndedBefore: the agent found it ended already.
 * - Killed: it was ended, and the cause is not known.
 */
export type EndCause =
  | 'Evicted'
  | 'Preempted'
  | 'NodeShutdown'
  | 'Deleted'
  | 'DeletedAtServer'
  | 'DeadlineExceeded'
  | 'Rejected'
  | 'Completed'
  | 'Unwanted'
  | 'AgentEnded'
  | 'EndedBefore'
  | 'Killed';

/** By the reason in the status of the pod, or of the event about it. */
const CAUSES: Readonly<Record<string, EndCause>> = {
  Evicted: 'Evicted',
  Preempting: 'Preempted',
  Terminated: 'NodeShutdown',
  Deleted: 'Deleted',
  DeadlineExceeded: 'DeadlineExceeded',
};

/** What is said where no reason is known. The subject is the pod. */
const TEXTS: Readonly<Record<EndCause, string>> = {
  Evicted: 'it was evicted',
  Preempted: 'it was preempted for a critical pod',
  NodeShutdown: 'the node shut down',
  Deleted: 'it was deleted on its node',
  DeletedAtServer: 'it was deleted at the API server',
  DeadlineExceeded: 'its activeDeadlineSeconds were over',
  Rejected: 'the node did not admit it',
  Completed: 'all its containers have ended',
  Unwanted: 'its source does not have it any more',
  AgentEnded: 'the agent ended its pods before it stopped',
  EndedBefore: 'it had ended before the agent began',
  Killed: 'it was told to end; by whom was not recorded',
};

/** How a pod was chosen from several to be ended. */
export interface Choice {
  /** The pod for which it was preempted, `namespace/name`. */
  readonly preemptor?: string;
  /** What that pod lacked: `cpu=300m`. */
  readonly missing?: string;
  /** The figures and the order of the candidates in one line; empty where they are not known. */
  readonly how: string;
  /** The candidates, `namespace/name`, in the order of the choice. */
  readonly order: readonly string[];
  /** Candidates that were passed over, in no order, as far as they are recorded. */
  readonly notChosen?: readonly string[];
}

/** In the answer as `-o json` prints it. */
export interface WhyEnd {
  readonly cause: EndCause;
  /** RFC 3339: when its end was requested, and since when none of its containers runs. */
  readonly toldAt?: string;
  readonly endedAt?: string;
  /** The final one. */
  readonly phase?: string;
  /** As the status of the pod and events have them. */
  readonly reason?: string;
  readonly message?: string;
  /** The containers by which it has failed. */
  readonly failed?: readonly FailedRun[];
  readonly choice?: Choice;
}

export interface EndFacts {
  readonly cause: EndCause;
  readonly phase?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly failed?: readonly FailedRun[];
  readonly choice?: Choice | undefined;
}

export function causeOfReason(reason: string): EndCause | undefined {
  return CAUSES[reason];
}

/** `preempted for kube-system/dns, which lacked cpu=300m`; `Evicted: The node was low on resource: memory`. */
export function causeText({ cause, reason = '', message = '', failed = [], choice }: EndFacts): string {
  if (choice?.preemptor !== undefined) {
    const { preemptor, missing = '' } = choice;
    return `preempted for ${preemptor}${missing === '' ? '' : `, which lacked ${missing}`}`;
  }
  // Its message says in other words what `returnText` says.
  if (reason === '' && cause === 'Completed' && failed.length > 0) return failedText(failed);
  if (reason === '' || cause === 'Deleted') return TEXTS[cause];
  return `${reason}${message === '' ? '' : `: ${withoutStop(message)}`}`;
}

const FAILED_MAX = 3;

/** `container main ended with exit code 3 (Error)`. */
function failedText(failed: readonly FailedRun[]): string {
  const more = failed.length - FAILED_MAX;
  const said = failed
    .slice(0, FAILED_MAX)
    .map(
      ({ name, exitCode, reason }) =>
        `container ${name} ended with exit code ${exitCode}${reason ? ` (${reason})` : ''}`,
    );
  return [...said, ...(more > 0 ? [`${more} more have failed`] : [])].join(', ');
}

/** In Unix milliseconds. */
interface EndTimes {
  readonly toldMs?: number | undefined;
  readonly endedMs?: number | undefined;
}

export function shownEnd(
  { cause, phase = '', reason = '', message = '', failed = [], choice }: EndFacts,
  { toldMs, endedMs }: EndTimes,
): WhyEnd {
  return {
    cause,
    ...(toldMs !== undefined && { toldAt: new Date(toldMs).toISOString() }),
    ...(endedMs !== undefined && { endedAt: new Date(endedMs).toISOString() }),
    ...(phase !== '' && { phase }),
    ...(reason !== '' && { reason }),
    ...(message !== '' && { message }),
    ...(failed.length > 0 && { failed }),
    choice,
  };
}

/** A sentence without its full stop; undefined where no choice was made, or its figures are not known. */
export function choiceText(choice: Choice | undefined): string | undefined {
  return choice === undefined || choice.how === '' ? undefined : `How it was chosen: ${choice.how}`;
}

/** Whether, and when, a pod that has ended comes back. */
export function returnText(origin: PodOrigin, isWanted: boolean, cause?: EndCause): string {
  if (!isWanted) return `It does not come back: ${GONE_FROM[origin]}`;
  switch (origin) {
    case 'static':
      return 'It comes back when its manifest changes';
    case 'local':
      if (cause === 'Deleted') return 'It comes back when its manifest changes';
      return 'It does not come back until its manifest changes: it is not a static pod';
    case 'api':
      return 'It does not come back: a controller of the cluster may make another pod in its place';
  }
}

const GONE_FROM: Readonly<Record<PodOrigin, string>> = {
  static: 'its source does not have it any more',
  local: 'its source does not have it any more',
  api: 'the API server does not have it any more; a controller of the cluster may make another pod in its place',
};

/** The text without a full stop at its end, so that it can be put into a sentence. */
export function withoutStop(text: string): string {
  return text.replace(/(?<![.\s])[.\s]+$/u, '');
}

/** `10:32:05Z (in 37s)`, `10:32:05Z (37s ago)`, with the date where it is another day (UTC). */
export function atTime(atMs: number, nowMs: number): string {
  const [at, now] = [new Date(atMs).toISOString(), new Date(nowMs).toISOString()];
  const time = at.slice(0, 10) === now.slice(0, 10) ? `${at.slice(11, 19)}Z` : `${at.slice(0, 19)}Z`;
  const distance = humanDuration(Math.abs(atMs - nowMs));
  return `${time} (${atMs > nowMs ? `in ${distance}` : `${distance} ago`})`;
}

/** The same for a time of the API; empty where there is none. */
export function atApiTime(time: string | undefined, nowMs: number): string {
  return time === undefined ? '' : atTime(Date.parse(time), nowMs);
}
