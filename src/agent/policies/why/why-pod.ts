/** What a pod does, since when, what it waits for and until when, in two sentences. */
import type { Rejection } from '../admission/rejection.ts';
import type { StartDelay } from '../admission/start-delay.ts';
import { type PodWait, podWaitText } from '../pod/pod-wait.ts';
import { isManifestPod, isStaticPod } from '../pod/pod-kinds.ts';
import { countedStatuses, podSummary } from '../status/pod-table.ts';
import { endStatus, isTerminalPhase, type PodStatusOverride } from '../termination/pod-termination.ts';
import type { CoreEvent, Pod, PodStatus } from '../../../types/kubernetes.ts';
import { containerObstacle } from './container-obstacle.ts';
import {
  atTime,
  causeOfReason,
  causeText,
  type Choice,
  choiceText,
  type EndFacts,
  type PodOrigin,
  returnText,
  shownEnd,
  type WhyEnd,
  withoutStop,
} from './end-cause.ts';
import { type Lack, lackText } from './lacked-parts.ts';
import { podSentence } from './state-sentences.ts';

export interface PodWhyFacts {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
  /** Of its chart; empty while it has none. */
  readonly state: string;
  /** Since when it is in that state, in Unix milliseconds. */
  readonly sinceMs: number | undefined;
  readonly delay: StartDelay | undefined;
  /** Why the volumes could not be set up, where the last sync failed by that. */
  readonly mountProblem?: string | undefined;
  readonly podWait?: PodWait | undefined;
  /** Other pods are ending so that it may have what its resize asks for. */
  readonly resizeDelay?: StartDelay | undefined;
  /** Which pods hold what the pod lacks; undefined where none does. */
  readonly holdersOf?: (lack: Lack) => string | undefined;
  readonly rejection: Rejection | undefined;
  /** What the kill writes into the final status. */
  readonly override: PodStatusOverride | undefined;
  /** When it ended, where an earlier agent saw that. */
  readonly endedMs?: number | undefined;
  /** How it was chosen to be ended, where it was. */
  readonly choice?: Choice | undefined;
  readonly gracePeriodSeconds: number | undefined;
  /** Its source does not have it any more. */
  readonly isUnwanted: boolean;
  readonly nextTryMs: number | undefined;
  /** About this pod, the oldest first. */
  readonly events: readonly CoreEvent[];
  readonly nowMs: number;
}

/** The answer to why something is as it is: also what `-o json` prints. */
export interface Why {
  /** `default/web`, or `node NAME`. */
  readonly subject: string;
  readonly state: string;
  /** RFC 3339. */
  readonly since?: string;
  readonly nextTry?: string;
  /** Of a pod that has ended or is ending. */
  readonly end?: WhyEnd;
  readonly sentences: readonly string[];
}

export function whyPod(facts: PodWhyFacts): Why {
  const { pod, state, sinceMs, nextTryMs, nowMs } = facts;
  const { namespace, name } = pod.metadata;
  const isTrying = nextTryMs !== undefined && nextTryMs > nowMs;
  return {
    subject: `${namespace}/${name}`,
    state,
    ...(sinceMs !== undefined && { since: new Date(sinceMs).toISOString() }),
    ...(isTrying && { nextTry: new Date(nextTryMs).toISOString() }),
    ...whyEnd(facts),
    sentences: sentencesOf(facts).map((text) => `${text}.`),
  };
}

function sentencesOf(facts: PodWhyFacts): readonly string[] {
  const { state } = facts;
  if (state === '') return [said(facts, 'has not been taken up yet'), containersText(facts)];
  if (state.startsWith('Terminated')) return endedSentences(facts);
  if (state.startsWith('Terminating') || state === 'Syncing.Draining') return endingSentences(facts);
  const { podWait, nowMs } = facts;
  if (podWait) {
    const text = podWaitText(podWait, atTime(podWait.since, nowMs));
    return [said(facts, text), containersText(facts)];
  }
  if (facts.delay) return [said(facts, delayText(facts, facts.delay)), containersText(facts)];
  // Its containers have their turn after that.
  if (state.startsWith('Syncing.Starting')) return [said(facts, podSentence(state)), containersText(facts)];
  const obstacle = containerObstacle(facts);
  if (obstacle !== undefined) {
    const { text, effect } = obstacle;
    return [said(facts, text), `${effect === undefined ? '' : `${effect}; `}${containersText(facts)}`];
  }
  const resize = resizeText(facts);
  if (resize !== undefined) return [said(facts, resize), containersText(facts)];
  const failed = state === 'Syncing.BackingOff' ? lastFailure(facts) : undefined;
  if (failed !== undefined) return [said(facts, `waits for the next try: ${failed}`), containersText(facts)];
  const isStarting = facts.status === undefined || facts.status.phase === 'Pending';
  return [said(facts, isStarting ? podSentence(state) : 'runs as its spec says'), containersText(facts)];
}

/** Of a pod whose spec asks for other resources than it has. */
function resizeText({ status, resizeDelay }: PodWhyFacts): string | undefined {
  const conditionOf = (type: string) => status?.conditions?.find((condition) => condition.type === type);
  const pending = conditionOf('PodResizePending');
  if (pending !== undefined && resizeDelay)
    return `runs with its former resources, and ${resizeDelay.message}`;
  if (pending !== undefined) {
    const { reason, message = '' } = pending;
    return reason === 'Infeasible'
      ? `runs with its former resources, since this node cannot grant the new ones: ${message}`
      : `runs with its former resources, and waits for room for the new ones: ${message}`;
  }
  const inProgress = conditionOf('PodResizeInProgress');
  if (inProgress === undefined) return undefined;
  const { message } = inProgress;
  return message ? `is being resized, and the last try failed: ${message}` : 'is being resized';
}

/** With the pods that hold what it waits for, where that is known. At the time of its request it may have been others. */
function delayText({ pod, holdersOf = nobody }: PodWhyFacts, delay: StartDelay): string {
  const lack = lackText(delay, pod, holdersOf);
  if (lack === undefined) return decapitalised(delay.message);
  const free = lack.free ? ` (${lack.free} free)` : '';
  return `waits for ${lack.what}${free}: ${lack.held}`;
}

/** Who holds now what the pod was refused for. */
function refusedText({ pod, rejection, holdersOf = nobody }: PodWhyFacts): readonly string[] {
  const lack = rejection && lackText(rejection, pod, holdersOf);
  return lack ? [`It asked for ${lack.what}; now ${lack.held}`] : [];
}

const nobody = () => undefined;

function said({ pod: { metadata } }: PodWhyFacts, text: string): string {
  return `${metadata.namespace}/${metadata.name} ${withoutStop(text)}`;
}

const decapitalised = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);

/** `2 of 3 containers run, 1 is ready`. Sidecars count, as in the READY of kubectl. */
function containersText({ pod, status }: PodWhyFacts): string {
  const shown = { ...pod, ...(status && { status }) };
  const { ready, total, restarts } = podSummary(shown);
  const running = countedStatuses(shown).filter(({ state }) => state?.running != null).length;
  const noun = total === 1 ? 'container runs' : 'containers run';
  const readyText = running === 0 ? '' : `, ${ready} ${ready === 1 ? 'is' : 'are'} ready`;
  const restartText = restarts === 0 ? '' : `, restarted ${restarts === 1 ? 'once' : `${restarts} times`}`;
  return `${running} of ${total} ${noun}${readyText}${restartText}`;
}

function endingSentences(facts: PodWhyFacts): readonly string[] {
  const { state, gracePeriodSeconds, sinceMs, nowMs } = facts;
  const end = endOf(facts);
  const first = said(facts, `${podSentence(state)}${end === undefined ? '' : `; ${causeText(end)}`}`);
  if (gracePeriodSeconds === undefined) return [first, ...chosen(facts), containersText(facts)];
  const until =
    sinceMs === undefined || state !== 'Terminating.Stopping'
      ? `of ${gracePeriodSeconds} s`
      : `until ${atTime(sinceMs + gracePeriodSeconds * 1000, nowMs)}`;
  return [first, ...chosen(facts), `Its containers have a grace period ${until}; ${containersText(facts)}`];
}

function endedSentences(facts: PodWhyFacts): readonly string[] {
  const { state, sinceMs, nowMs, status, pod, isUnwanted } = facts;
  const endedMs = facts.endedMs ?? sinceMs;
  const when = endedMs === undefined ? '' : ` at ${atTime(endedMs, nowMs)}`;
  const open = state === 'Terminated.Finished' ? undefined : podSentence(state);
  // The phase of a pod that is ended while it runs stays Running: it does not describe the end.
  const phase = isTerminalPhase(status?.phase) ? `, phase ${status?.phase}` : '';
  const end = endOf(facts);
  const first = said(facts, `has ended${when}${phase}${end === undefined ? '' : `: ${causeText(end)}`}`);
  const failure = state === 'Terminated.BackingOff' ? lastFailure(facts) : undefined;
  const left = open && `It ${open}${failure === undefined ? '' : `: ${withoutStop(failure)}`}`;
  return [
    first,
    ...chosen(facts),
    ...refusedText(facts),
    left ?? returnText(originOf(pod), !isUnwanted, end?.cause),
  ];
}

function chosen({ choice }: PodWhyFacts): readonly string[] {
  const text = choiceText(choice);
  return text === undefined ? [] : [withoutStop(text)];
}

function endOf({ rejection, override, status, pod, isUnwanted, choice }: PodWhyFacts): EndFacts | undefined {
  const why = rejection ?? override ?? { reason: status?.reason, message: status?.message };
  const { reason = '', message = '' } = why;
  const byItself = isTerminalPhase(status?.phase) ? 'Completed' : undefined;
  if (reason !== '') {
    const cause = rejection ? 'Rejected' : (causeOfReason(reason) ?? byItself ?? 'Killed');
    return { cause, reason, message, choice };
  }
  if (pod.metadata.deletionTimestamp != null) return { cause: 'DeletedAtServer' };
  if (isUnwanted) return { cause: 'Unwanted' };
  return byItself && { cause: byItself, failed: endStatus(status ?? {}).failed ?? [] };
}

function whyEnd(facts: PodWhyFacts): { readonly end?: WhyEnd } {
  const { state, status, endedMs } = facts;
  const isEnd = state.startsWith('Terminat') || state === 'Syncing.Draining';
  const end = isEnd ? endOf(facts) : undefined;
  const phase = isTerminalPhase(status?.phase) ? status?.phase : undefined;
  return end === undefined ? {} : { end: shownEnd({ ...end, phase }, { endedMs }) };
}

function originOf(pod: Pod): PodOrigin {
  if (isStaticPod(pod)) return 'static';
  return isManifestPod(pod) ? 'local' : 'api';
}

function lastFailure({ events }: PodWhyFacts): string | undefined {
  return events.findLast(({ type }) => type === 'Warning')?.message;
}
