/** What a pod does, since when, what it waits for and until when, in two sentences. */
import type { Rejection } from '../admission/rejection.ts';
import type { StartDelay } from '../admission/start-delay.ts';
import { isManifestPod, isStaticPod } from '../pod/pod-kinds.ts';
import type { PodStatusOverride } from '../sync/pod-termination.ts';
import type { CoreEvent, Pod, PodStatus } from '../../types/kubernetes.ts';
import { containerObstacle } from './container-obstacle.ts';
import { stateSentence } from './state-sentences.ts';
import { atTime } from './times.ts';

export interface PodWhyFacts {
  readonly pod: Pod;
  readonly status: PodStatus | undefined;
  /** Of its chart; empty while it has none. */
  readonly state: string;
  /** Since when it is in that state, in Unix milliseconds. */
  readonly sinceMs: number | undefined;
  readonly delay: StartDelay | undefined;
  readonly rejection: Rejection | undefined;
  /** What the part that ended the pod says of it. */
  readonly override: PodStatusOverride | undefined;
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
    sentences: sentencesOf(facts).map((text) => `${text}.`),
  };
}

function sentencesOf(facts: PodWhyFacts): readonly string[] {
  const { state } = facts;
  if (state === '') return [said(facts, 'has not been taken up yet'), counted(facts)];
  if (state.startsWith('Terminated')) return endedSentences(facts);
  if (state.startsWith('Terminating') || state === 'Syncing.Draining') return endingSentences(facts);
  if (facts.delay) return [said(facts, decapitalised(facts.delay.message)), counted(facts)];
  const obstacle = containerObstacle(facts);
  if (obstacle !== undefined) return [said(facts, obstacle), counted(facts)];
  const failed = state === 'Syncing.BackingOff' ? lastFailure(facts) : undefined;
  if (failed !== undefined) return [said(facts, `waits for the next try: ${failed}`), counted(facts)];
  const isStarting = facts.status === undefined || facts.status.phase === 'Pending';
  return [said(facts, isStarting ? sentence(state) : 'runs as its spec says'), counted(facts)];
}

function said({ pod: { metadata } }: PodWhyFacts, text: string): string {
  return `${metadata.namespace}/${metadata.name} ${withoutStop(text)}`;
}

const withoutStop = (text: string): string => text.replace(/[.\s]+$/u, '');
const decapitalised = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);
const sentence = (state: string): string => stateSentence('pod', state) ?? `is in state ${state}`;

/** `2 of 3 containers run, 1 is ready`. */
function counted({ pod, status }: PodWhyFacts): string {
  const total = pod.spec.containers.length;
  const statuses = status?.containerStatuses ?? [];
  const running = statuses.filter(({ state }) => state?.running != null).length;
  const ready = statuses.filter((one) => one.ready).length;
  const restarts = statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
  const noun = total === 1 ? 'container runs' : 'containers run';
  const readyText = running === 0 ? '' : `, ${ready} ${ready === 1 ? 'is' : 'are'} ready`;
  const restartText = restarts === 0 ? '' : `, restarted ${restarts === 1 ? 'once' : `${restarts} times`}`;
  return `${running} of ${total} ${noun}${readyText}${restartText}`;
}

function endingSentences(facts: PodWhyFacts): readonly string[] {
  const { state, gracePeriodSeconds, sinceMs, nowMs } = facts;
  const cause = causeOf(facts);
  const first = said(facts, `${sentence(state)}${cause === undefined ? '' : `; ${cause}`}`);
  if (gracePeriodSeconds === undefined) return [first, counted(facts)];
  const until =
    sinceMs === undefined || state !== 'Terminating.Stopping'
      ? `of ${gracePeriodSeconds} s`
      : `until ${atTime(sinceMs + gracePeriodSeconds * 1000, nowMs)}`;
  return [first, `Its containers have a grace period ${until}; ${counted(facts)}`];
}

function endedSentences(facts: PodWhyFacts): readonly string[] {
  const { state, sinceMs, nowMs, status } = facts;
  const when = sinceMs === undefined ? '' : ` at ${atTime(sinceMs, nowMs)}`;
  const open = state === 'Terminated.Finished' ? undefined : sentence(state);
  const phase = status?.phase === undefined ? '' : `, phase ${status.phase}`;
  const cause = causeOf(facts);
  const first = said(facts, `has ended${when}${phase}${cause === undefined ? '' : `: ${cause}`}`);
  const failure = state === 'Terminated.BackingOff' ? lastFailure(facts) : undefined;
  const left = open && `It ${open}${failure === undefined ? '' : `: ${withoutStop(failure)}`}`;
  return [first, left ?? returns(facts)];
}

/** By whom and why it was ended. */
function causeOf(facts: PodWhyFacts): string | undefined {
  const { rejection, override, status, pod, isUnwanted } = facts;
  const told = rejection ?? override ?? { reason: status?.reason, message: status?.message };
  const { reason = '', message = '' } = told;
  if (reason !== '') return `${reason}${message === '' ? '' : `: ${withoutStop(message)}`}`;
  if (pod.metadata.deletionTimestamp != null) return 'it was deleted at the API server';
  if (isUnwanted) return 'its source does not have it any more';
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
    ? 'all its containers have ended'
    : undefined;
}

/** Whether, and when, it comes back. */
function returns({ pod, isUnwanted }: PodWhyFacts): string {
  if (isUnwanted) return 'It does not come back: its source does not have it any more';
  if (isStaticPod(pod)) return 'It comes back when its manifest changes';
  if (isManifestPod(pod)) return 'It does not come back until its manifest changes: it is not a static pod';
  return 'It does not come back: a controller of the cluster may make another pod in its place';
}

function lastFailure({ events }: PodWhyFacts): string | undefined {
  return events.findLast(({ type }) => type === 'Warning')?.message;
}
