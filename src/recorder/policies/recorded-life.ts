/** A pod's last life, from what the flight recorder has of its chart: which state it reached, what ended it, and when. */
import { isObject, textOf } from '../../agent/policies/formats/json-values.ts';
import type { Transition } from '../../types/transition.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../../agent/policies/pod/pod-kinds.ts';
import { podOfActor } from './record-entry.ts';
import { type FailedRun, isTerminalPhase } from '../../agent/policies/termination/pod-termination.ts';
import { causeOfReason, type EndCause, type PodOrigin } from '../../agent/policies/why/end-cause.ts';
import type { RecordedEnd, RecordedLife } from '../../agent/policies/why/why-gone.ts';

/** UIDs that are made from a manifest. */
const MANIFEST_UID = /^[0-9a-f]{32}$/u;

/** `transitions`: of the charts of pods of one name, the oldest first. Undefined where there are none. */
export function recordedLife(transitions: readonly Transition[]): RecordedLife | undefined {
  const last = transitions.at(-1);
  const pod = last && podOfActor(last.actor);
  if (last === undefined || pod === undefined) return undefined;
  const { namespace, name, uid } = pod;
  const lives = livesOf(transitions.filter(({ actor }) => actor === last.actor));
  const newest = lives.at(-1) ?? [];
  // An agent that finds a pod ended does not know why; an earlier agent may have recorded it.
  const ends = lives.map(endOf);
  const own = ends.at(-1);
  const end = own?.cause === 'EndedBefore' ? (ends.findLast(isFirstHand) ?? own) : own;
  const cause = end && (causeOfReason(end.reason) ?? end.cause);
  const since = newest.findLast(({ from, to }) => from !== to) ?? last;
  const origin = lives.map(originOf).findLast((one) => one !== undefined) ?? originByUID(uid);
  return {
    ...{ namespace, name, uid, origin, state: last.to, sinceMs: since.atMs },
    end: end && cause && { ...end, cause },
  };
}

const isFirstHand = (end: RecordedEnd | undefined): boolean =>
  end !== undefined && end.cause !== 'EndedBefore';

/** In which a pod's chart begins; former versions had the state outside of `Starting`. */
export const NEW_STATES: ReadonlySet<string> = new Set(['Syncing.Starting.New', 'Syncing.New']);

/** One for each actor: an agent that begins, or a pod that comes back, has a new one. */
function livesOf(transitions: readonly Transition[]): readonly (readonly Transition[])[] {
  const lives: Transition[][] = [];
  for (const transition of transitions) {
    if (NEW_STATES.has(transition.from) || lives.length === 0) lives.push([]);
    lives.at(-1)?.push(transition);
  }
  return lives;
}

function endOf(life: readonly Transition[]): RecordedEnd | undefined {
  const first = life.findIndex(endsIt);
  const beginning = life[first];
  if (beginning === undefined) return undefined;
  // The last one with a reason counts, as in the pod's status.
  const kill = life
    .slice(first)
    .findLast((one) => one.actions.includes('recordTermination') && reasonOf(one));
  const hasData = life.some(({ data }) => data !== undefined);
  const ending = kill && reasonOf(kill);
  const cause = causeOfReason(ending?.reason ?? '') ?? causeOf(beginning, hasData);
  const status = life
    .slice(first)
    .map(statusOf)
    .findLast((one) => one !== undefined);
  const phase = textAt(status, 'phase');
  // If the end of the pod was requested, its status may name a deadline that passed only later.
  const byStatus = BY_ITSELF.has(cause) ? reasonIn(status) : undefined;
  return {
    cause,
    toldMs: beginning.atMs,
    endedMs: life.find(({ to }) => to.startsWith('Terminated'))?.atMs,
    phase: isTerminalPhase(phase) ? phase : '',
    failed: failedIn(status),
    ...(ending ?? byStatus ?? { reason: '', message: '' }),
  };
}

function failedIn(status: unknown): readonly FailedRun[] {
  const failed = memberOf(status, 'failed');
  return (Array.isArray(failed) ? failed : []).map((run: unknown) => {
    const reason = textAt(run, 'reason');
    return {
      name: textAt(run, 'name'),
      exitCode: Number(memberOf(run, 'exitCode')),
      ...(reason !== '' && { reason }),
    };
  });
}

/** A pod that ended by itself: the reason is in its status alone. */
const BY_ITSELF: ReadonlySet<EndCause> = new Set(['Completed', 'EndedBefore']);

function statusOf({ event, data }: Transition): unknown {
  return event === 'SYNC_DONE' || event === 'CLEANUP_DONE' ? memberOf(data, 'status') : undefined;
}

function endsIt({ from, to }: Transition): boolean {
  const ends = to === 'Syncing.Draining' || to.startsWith('Terminat');
  return ends && from.startsWith('Syncing') && from !== 'Syncing.Draining';
}

interface Reason {
  readonly reason: string;
  readonly message: string;
}

function reasonOf({ event, data }: Transition): Reason | undefined {
  return reasonIn(event === 'REJECTED' ? data : memberOf(memberOf(data, 'options'), 'podStatus'));
}

function reasonIn(said: unknown): Reason | undefined {
  const reason = textAt(said, 'reason');
  return reason === '' ? undefined : { reason, message: textAt(said, 'message') };
}

function causeOf({ event, data, guard = '', actor }: Transition, hasData: boolean): EndCause {
  if (event === 'REJECTED') return 'Rejected';
  if (event === 'SYNC_DONE') return 'Completed';
  if (event === 'SyncPodKill') {
    if (data === undefined) return hasData ? 'Unwanted' : 'Killed';
    return memberOf(data, 'pod') === undefined ? 'Unwanted' : 'Killed';
  }
  if (guard.includes('hadRunToItsEnd')) return 'EndedBefore';
  const metadata = memberOf(memberOf(data, 'pod'), 'metadata');
  if (metadata === undefined)
    return MANIFEST_UID.test(podOfActor(actor)?.uid ?? '') ? 'EndedBefore' : 'DeletedAtServer';
  return textAt(metadata, 'deletionTimestamp') === '' ? 'EndedBefore' : 'DeletedAtServer';
}

function originOf(life: readonly Transition[]): PodOrigin | undefined {
  for (const { data } of life.toReversed()) {
    const annotations = memberOf(memberOf(memberOf(data, 'pod'), 'metadata'), 'annotations');
    const source = textAt(annotations, CONFIG_SOURCE_ANNOTATION);
    if (source === 'api' || source === 'local') return source;
    if (source !== '') return 'static';
  }
  return undefined;
}

function originByUID(uid: string): PodOrigin {
  return MANIFEST_UID.test(uid) ? 'static' : 'api';
}

/** A member of what an event said: in a record, any part may be missing or cut. Undefined where there is no such member, or the value is no object. */
export function memberOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

/** Empty where there is none. */
export function textAt(value: unknown, name: string): string {
  return textOf(memberOf(value, name));
}

/** Empty where there is none. */
export function listAt(value: unknown, name: string): readonly unknown[] {
  const list = memberOf(value, name);
  return Array.isArray(list) ? list : [];
}
