/** What is still known of a pod that is not here any more: from the flight recorder, and from the events that are kept. */
import type { CoreEvent } from '../../../types/kubernetes.ts';
import type { FailedRun } from '../termination/pod-termination.ts';
import {
  atApiTime,
  atTime,
  causeOfReason,
  causeText,
  type Choice,
  choiceText,
  type EndCause,
  type EndFacts,
  type PodOrigin,
  returnText,
  shownEnd,
  withoutStop,
} from './end-cause.ts';
import { podSentence } from './state-sentences.ts';
import type { Why } from './why-pod.ts';

export interface RecordedLife {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly origin: PodOrigin;
  /** The last state that is recorded, and since when, in Unix milliseconds. */
  readonly state: string;
  readonly sinceMs: number;
  /** Undefined where nothing has ended it. */
  readonly end: RecordedEnd | undefined;
}

export interface RecordedEnd {
  readonly cause: EndCause;
  /** When its end was requested, or it ended by itself. */
  readonly toldMs: number;
  /** Since when none of its containers runs; undefined while some may. */
  readonly endedMs: number | undefined;
  /** Of its last status that is recorded; empty where none is, or where that is not final: a static pod can end with phase Running. */
  readonly phase: string;
  readonly reason: string;
  readonly message: string;
  readonly failed?: readonly FailedRun[];
}

export interface RecordedPod {
  readonly life: RecordedLife;
  readonly choice: Choice | undefined;
}

export interface GoneFacts {
  readonly namespace: string;
  readonly name: string;
  /** About pods of this name, the oldest first. */
  readonly events: readonly CoreEvent[];
  /** Undefined where nothing is recorded of it. */
  readonly recorded?: RecordedPod | undefined;
  /** When the record was last written to, where no agent runs that could be asked; in Unix milliseconds. */
  readonly recordEndMs?: number;
  readonly nowMs: number;
}

/** Reasons of events that say why a pod ended, rather than how. */
const CAUSES = ['Evicted', 'Preempting', 'ExceededGracePeriod', 'NodeShutdown', 'FailedValidation', 'OutOf'];

/** Undefined where nothing is known. */
export function whyGone(facts: GoneFacts): Why | undefined {
  const { recorded, events } = facts;
  if (recorded === undefined) return fromEvents(facts);
  const { uid, sinceMs } = recorded.life;
  // A record that was switched off has nothing of a later pod of that name.
  const last = events.at(-1);
  const isOfLater = last?.involvedObject.uid !== uid && Date.parse(last?.lastTimestamp ?? '') > sinceMs;
  return (isOfLater ? fromEvents(facts) : undefined) ?? fromRecord(facts, recorded);
}

function fromRecord(facts: GoneFacts, recorded: RecordedPod): Why {
  const { life } = recorded;
  const { recordEndMs, nowMs } = facts;
  const own = facts.events.filter(({ involvedObject }) => involvedObject.uid === life.uid);
  const end = life.end && withReasonOfEvent(life.end, recorded.choice, own);
  const isGone = recordEndMs === undefined;
  const sentences = [
    ...(isGone
      ? []
      : [`No daemon runs; this is from its record, which ends at ${atTime(recordEndMs, nowMs)}`]),
    ...(end === undefined ? unendedSentences(life, isGone, nowMs) : endSentences(life, end, isGone, nowMs)),
  ];
  return {
    subject: `${life.namespace}/${life.name}`,
    state: isGone ? 'Gone' : life.state,
    since: new Date(life.sinceMs).toISOString(),
    ...(end && { end: shownEnd(end, end) }),
    sentences: sentences.map((text) => `${text}.`),
  };
}

type ExplainedEnd = RecordedEnd & EndFacts;

/** If the record has no reason, an event about the pod may have one. */
function withReasonOfEvent(
  end: RecordedEnd,
  choice: Choice | undefined,
  events: readonly CoreEvent[],
): ExplainedEnd {
  if (end.reason !== '' || choice !== undefined) return { ...end, choice };
  const event = events.findLast(({ reason = '' }) => causeOfReason(reason) !== undefined);
  const cause = event && causeOfReason(event.reason ?? '');
  if (event === undefined || cause === undefined) return { ...end, choice };
  return { ...end, cause, reason: event.reason ?? '', message: event.message ?? '', choice };
}

function endSentences(
  life: RecordedLife,
  end: ExplainedEnd,
  isGone: boolean,
  nowMs: number,
): readonly string[] {
  const subject = `${life.namespace}/${life.name}`;
  const chosen = choiceText(end.choice);
  const first =
    end.endedMs === undefined
      ? `${subject} was told to end at ${atTime(end.toldMs, nowMs)}: ${causeText(end)}`
      : `${subject} ended at ${atTime(end.endedMs, nowMs)}${phaseText(end)}: ${causeText(end)}`;
  const open = `It had not ended when the record ends: some of its containers may run, and the next agent ends them`;
  return [
    first,
    ...(chosen === undefined ? [] : [chosen]),
    ...(end.endedMs === undefined && !isGone ? [open] : []),
    returns(life, end, isGone),
  ];
}

/** As long as containers may run, the phase can still change. */
function phaseText({ phase }: RecordedEnd): string {
  return phase === '' ? '' : `, phase ${phase}`;
}

function returns({ origin }: RecordedLife, { cause }: ExplainedEnd, isGone: boolean): string {
  if (!isGone && cause === 'AgentEnded') return 'The next agent starts it again, if its source still has it';
  if (!isGone && cause === 'Killed') return 'Whether it comes back was not recorded';
  return returnText(origin, !isGone && cause !== 'Unwanted' && cause !== 'DeletedAtServer', cause);
}

/** The agent was killed, or the record has lost the end. */
function unendedSentences(life: RecordedLife, isGone: boolean, nowMs: number): readonly string[] {
  const subject = `${life.namespace}/${life.name}`;
  const last = `its last record, of ${atTime(life.sinceMs, nowMs)}: it ${podSentence(life.state)}`;
  if (isGone) return [`${subject} is not on this node any more; ${last}`, 'Its end is not recorded'];
  return [
    `${subject} had not been told to end; ${last}`,
    'Its containers may still run: the next agent goes on with them',
  ];
}

function fromEvents({ namespace, name, events, nowMs }: GoneFacts): Why | undefined {
  const last = events.at(-1);
  if (last === undefined) return undefined;
  const cause = events.findLast(({ reason = '' }) => CAUSES.some((one) => reason.startsWith(one)));
  const lines = [...new Set([...(cause ? [cause] : []), last])].map(
    ({ reason = '', message = '', lastTimestamp }) =>
      `${reason} at ${atApiTime(lastTimestamp, nowMs)}: ${withoutStop(message)}`,
  );
  return {
    subject: `${namespace}/${name}`,
    state: 'Gone',
    sentences: [
      `${namespace}/${name} is not on this node any more.`,
      `The last events about it: ${lines.join('; ')}.`,
    ],
  };
}
