/** What is drawn on the time axis of a pod: lanes with spans, which last, and marks, which are moments. */
import type { ContainerStatus, CoreEvent } from '../../types/kubernetes.ts';
import type { HealthKind, PodView } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';
import { stateKind } from './health-view.ts';

export interface Span {
  readonly fromMs: number;
  /** Undefined: it goes on. */
  readonly toMs: number | undefined;
  /** For the colour: that of the same health, `calm`, `wait`. */
  readonly kind: HealthKind | 'calm' | 'wait';
  readonly text: string;
  /** From 0 to 1: it is drawn so high. */
  readonly level?: number;
}

export interface Mark {
  readonly atMs: number;
  readonly kind: string;
  readonly text: string;
}

export interface Lane {
  readonly name: string;
  readonly spans: readonly Span[];
  readonly marks: readonly Mark[];
  /** Its spans are drawn as high as their levels. */
  readonly level?: Level;
}

export interface Level {
  /** In words. */
  readonly now: string;
  /** Lines beside it. `at`: from 0 to 1. */
  readonly limits: readonly { readonly kind: string; readonly at: number; readonly text: string }[];
}

/** One life of a container. */
export interface Run {
  readonly container: string;
  readonly startMs: number;
  /** Undefined: it runs. */
  readonly endMs?: number;
  readonly exitCode?: number;
  readonly reason?: string;
}

export interface LaneFacts {
  /** As it was last. */
  readonly last: PodView | undefined;
  /** The newest first. */
  readonly transitions: readonly Transition[];
  /** Of the containers, as far as they were seen. */
  readonly runs: readonly Run[];
  /** Of the pod, now. */
  readonly health?: HealthKind;
}

export function podLanes({ last: pod, transitions, runs, health }: LaneFacts): readonly Lane[] {
  const ordered = transitions.toReversed();
  return [
    ...stateLanes(ordered, pod, health),
    resizeLane(ordered, pod),
    ...containerLanes(pod, runs, health),
    ...probeLanes(ordered, pod, runs),
    ...(pod === undefined ? [] : [eventLane(pod.events)]),
  ].filter(isUsed);
}

/** Of an actor whose states are known before the first transition too, where `now` says where it is, and since when. `kindOf`: of a state. */
export function actorLanes(
  ordered: readonly Transition[],
  kindOf: (state: string) => Span['kind'],
  now?: { readonly state: string; readonly sinceMs?: number },
): readonly Lane[] {
  const stateSpan = (state: string, fromMs: number, toMs: number | undefined) => {
    return { fromMs, toMs, kind: kindOf(state), text: state };
  };
  const moves = ordered.filter(({ from, to }) => from !== to);
  const marks = ordered.map(({ atMs, event, guard, from, to }) => ({
    atMs,
    kind: '',
    text: `${event}${guard === undefined ? '' : ` [${guard}]`}: ${changedParts(from, to)}`,
  }));
  const spans = now?.sinceMs === undefined ? [] : [stateSpan(now.state, now.sinceMs, undefined)];
  const states = moves.length === 0 ? [{ name: 'state', spans, marks: [] }] : regionLanes(moves, stateSpan);
  return [...states, { name: 'transitions', spans: [], marks }].filter(isUsed);
}

/** Of a parallel state each region has its lane: `Pass.Observing,Schedule.Memory.NotDue,Everything.Waiting`. */
function regionLanes(
  moves: readonly Transition[],
  stateSpan: (state: string, fromMs: number, toMs: number | undefined) => Span,
): readonly Lane[] {
  const regions = moves.map(({ to }) => to.split(','));
  const isSingle = regions[0]?.length === 1;
  return (regions[0] ?? []).map((first, region) => {
    const spans = moves.map(({ atMs }, index) =>
      stateSpan(regions[index]?.[region] ?? '', atMs, moves[index + 1]?.atMs),
    );
    return { name: isSingle ? 'state' : (first.split('.')[0] ?? ''), spans: withoutLooks(spans), marks: [] };
  });
}

/**
 * From time to time an actor at rest looks whether there is something to do, and one that backs off tries again. If there is nothing, or it
 * fails again, it is one span; the marks show the look.
 */
function withoutLooks(spans: readonly Span[]): readonly Span[] {
  const kept: Span[] = [];
  for (const span of spans) {
    const at = kept.findLastIndex(({ text }) => text === span.text);
    const before = kept[at];
    const isBack =
      (span.kind === 'calm' || span.kind === 'wait' || isWaiting(span)) &&
      span.fromMs - (before?.toMs ?? 0) < LOOK_MS;
    if (before !== undefined && (isBack || at === kept.length - 1))
      kept.splice(at, kept.length, { ...before, toMs: span.toMs });
    else kept.push(span);
  }
  return kept;
}

const isWaiting = ({ text }: Span): boolean => text.endsWith('BackingOff');

/** A look that takes longer is work. */
const LOOK_MS = 5_000;

/** `A → B`; of a parallel state only the regions that have changed, or all where none has. */
export function changedParts(from: string, to: string): string {
  const [before, after] = [from.split(','), to.split(',')];
  const changed = after.flatMap((part, index) =>
    part === before[index] ? [] : [`${before[index] ?? ''} → ${part}`],
  );
  return (changed.length === 0 ? before : changed).join(', ');
}

function isUsed({ spans, marks }: Lane): boolean {
  return spans.length + marks.length > 0;
}

/** Of the pod's newest actor: its name may have been that of another pod before. */
function stateLanes(
  ordered: readonly Transition[],
  pod: PodView | undefined,
  health: HealthKind | undefined,
): readonly Lane[] {
  const own = ordered.filter(({ chart }) => chart === 'pod');
  const actor = own.findLast((one) => pod === undefined || one.actor.includes(pod.row.uid))?.actor;
  // Its end is as the pod is: its chart does not say how it has ended.
  const ended = health === 'failed' || health === 'done' ? health : undefined;
  const kindOf = (state: string) => {
    const kind = stateKind(state);
    return kind === 'calm' && state.startsWith('Terminated') ? (ended ?? kind) : kind;
  };
  return actorLanes(
    own.filter((one) => one.actor === actor),
    kindOf,
    pod?.row,
  );
}

/** A resize, as long as it waits, is carried out or fails. */
function resizeLane(ordered: readonly Transition[], pod: PodView | undefined): Lane {
  const own = ordered.filter(
    ({ chart, actor, from, to }) =>
      chart === 'resize' && from !== to && (pod === undefined || actor.includes(pod.row.uid)),
  );
  const spans = own.flatMap(({ atMs, to }, index) => {
    const open = to.split(',').filter((part) => !RESIZED.includes(part));
    if (open.length === 0) return [];
    const kind: Span['kind'] = open.some((part) => /Infeasible|Failing/u.test(part))
      ? 'attention'
      : open.includes('Actuation.InProgress')
        ? 'starting'
        : 'wait';
    return [{ fromMs: atMs, toMs: own[index + 1]?.atMs, kind, text: open.join(', ') }];
  });
  return { name: 'resize', spans, marks: [] };
}

const RESIZED: readonly string[] = ['Request.Granted', 'Actuation.Actuated'];

/** The runs that the status tells of are added to those that are known; a later status knows how a run has ended. */
export function withRuns(known: readonly Run[], { status }: PodView): readonly Run[] {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const all = new Map(
    [...known, ...statuses.flatMap(runsOf)].map((run) => [`${run.container} ${run.startMs}`, run]),
  );
  return [...all.values()].sort((a, b) => a.startMs - b.startMs);
}

function runsOf({ name: container, state, lastState }: ContainerStatus): readonly Run[] {
  const ended = [lastState?.terminated, state?.terminated].flatMap((terminated) => {
    const [startMs, endMs] = [timeOf(terminated?.startedAt), timeOf(terminated?.finishedAt)];
    if (terminated == null || startMs === undefined || endMs === undefined) return [];
    const { exitCode, reason } = terminated;
    return [{ container, startMs, endMs, exitCode, ...(reason !== undefined && { reason }) }];
  });
  const startMs = timeOf(state?.running?.startedAt);
  return startMs === undefined ? ended : [...ended, { container, startMs }];
}

function containerLanes(
  pod: PodView | undefined,
  runs: readonly Run[],
  health: HealthKind | undefined,
): readonly Lane[] {
  const { initContainers = [], containers = [] } = pod?.pod.spec ?? {};
  const names = new Set([
    ...[...initContainers, ...containers].map(({ name }) => name),
    ...runs.map((run) => run.container),
  ]);
  return [...names].map((name) => {
    const own = runs.filter((run) => run.container === name);
    const status = statusOf(pod, name);
    // One that is not ready is as the pod is, by the rule of when that needs attention.
    const unready = health === 'attention' ? 'attention' : 'starting';
    const startMs = timeOf(pod?.status?.startTime);
    return {
      name: `container ${name}`,
      spans: containerSpans(own, status, startMs, status?.ready === false ? unready : 'ok'),
      marks: [],
    };
  });
}

/** Runs, and the waits before, between and after them. */
function containerSpans(
  runs: readonly Run[],
  status: ContainerStatus | undefined,
  podStartMs: number | undefined,
  running: Span['kind'],
): readonly Span[] {
  const waiting = status?.state?.waiting;
  const waits = (fromMs: number | undefined, toMs: number | undefined, text: string): readonly Span[] =>
    fromMs === undefined || (toMs !== undefined && toMs <= fromMs)
      ? []
      : [{ fromMs, toMs, kind: 'wait', text }];
  // Of a container that was restarted often the first runs may not be known.
  const isWhole = runs.length > (status?.restartCount ?? 0);
  const spans = runs.flatMap((run, index) => {
    const before = index === 0 ? (isWhole ? podStartMs : undefined) : runs[index - 1]?.endMs;
    return [...waits(before, run.startMs, 'waits'), runSpan(run, running)];
  });
  const last = runs.at(-1);
  if (waiting == null) return last?.endMs === undefined ? spans : [...spans, ...ended(last)];
  return [
    ...spans,
    ...waits(last === undefined ? podStartMs : last.endMs, undefined, `waits: ${waiting.reason ?? ''}`),
  ];
}

function runSpan({ startMs, endMs, exitCode, reason }: Run, running: Span['kind']): Span {
  if (endMs === undefined) {
    const text = running === 'ok' ? 'runs' : 'runs, not ready';
    return { fromMs: startMs, toMs: undefined, kind: running, text };
  }
  const kind = exitCode === 0 ? 'done' : 'failed';
  // A run of less than a second is to be seen too.
  return {
    fromMs: startMs,
    toMs: Math.max(endMs, startMs + 1),
    kind,
    text: `ran, exit code ${exitCode} (${reason ?? 'Unknown'})`,
  };
}

function ended({ endMs, exitCode }: Run): readonly Span[] {
  return endMs === undefined
    ? []
    : [
        {
          fromMs: endMs,
          toMs: undefined,
          kind: exitCode === 0 ? 'done' : 'failed',
          text: `ended with exit code ${exitCode}`,
        },
      ];
}

const GOOD: Readonly<Record<string, string>> = { readiness: 'ready', liveness: 'alive', startup: 'started' };

/** A lane for each probe whose result has changed, and for each that has never succeeded. */
function probeLanes(
  ordered: readonly Transition[],
  pod: PodView | undefined,
  runs: readonly Run[],
): readonly Lane[] {
  const own = ordered.filter(
    ({ chart, actor }) => chart === 'probe' && (pod === undefined || actor.includes(pod.row.uid)),
  );
  const changed = [...Map.groupBy(own, ({ actor }) => actor)].map(([actor, transitions]) => {
    const [, container = '', kind = ''] = actor.split(' ');
    const isReady = kind === 'readiness' ? statusOf(pod, container)?.ready : undefined;
    return [`${kind} ${container}`, probeSpans(transitions, kind, isReady)] as const;
  });
  const lanes = new Map<string, readonly Span[]>(changed);
  for (const [name, spans] of pod === undefined ? [] : unsuccessful(pod, runs)) {
    const known = lanes.get(name) ?? [];
    const isCovered = known.some(
      ({ toMs, fromMs }) => toMs === undefined || fromMs >= (spans[0]?.fromMs ?? 0),
    );
    if (!isCovered) lanes.set(name, [...known, ...spans]);
  }
  return [...lanes].map(([name, spans]) => ({ name, spans, marks: [] }));
}

/** Probes of containers that run now and have not succeeded yet: their failures change no result, so that no transition tells of them. */
function unsuccessful(pod: PodView, runs: readonly Run[]): readonly (readonly [string, readonly Span[]])[] {
  const { initContainers = [], containers } = pod.pod.spec;
  return [...initContainers, ...containers].flatMap(({ name, readinessProbe, startupProbe }) => {
    const status = statusOf(pod, name);
    const run = runs.findLast(({ container, endMs }) => container === name && endMs === undefined);
    if (run === undefined || status === undefined) return [];
    const isStarting = startupProbe != null && status.started === false;
    const isUnready = readinessProbe != null && !status.ready && !isStarting;
    return [
      ...(isStarting ? [[`startup ${name}`, failing(pod, run, 'startup')] as const] : []),
      ...(isUnready ? [[`readiness ${name}`, failing(pod, run, 'readiness')] as const] : []),
    ];
  });
}

/** Red from its first failure on, which an event tells of. */
function failing({ events }: PodView, { container, startMs }: Run, kind: string): readonly Span[] {
  const said = GOOD[kind] ?? '';
  const first = events.find(
    ({ reason, message = '', involvedObject: { fieldPath = '' } }) =>
      reason === 'Unhealthy' &&
      fieldPath.endsWith(`{${container}}`) &&
      message.toLowerCase().startsWith(kind),
  );
  const firstMs = timeOf(first?.firstTimestamp);
  const failedMs = firstMs === undefined ? undefined : Math.max(firstMs, startMs);
  const before: Span = { fromMs: startMs, toMs: failedMs, kind: 'starting', text: `not ${said} yet` };
  if (failedMs === undefined) return [before];
  const since: Span = { fromMs: failedMs, toMs: undefined, kind: 'failed', text: `not ${said}` };
  return failedMs === startMs ? [since] : [before, since];
}

interface Result {
  readonly fromMs: number;
  readonly toMs?: number;
  readonly isGood: boolean;
}

/** A result holds until the next one, or until its container is not probed any more. `isGoodNow`: as the status says. */
function probeSpans(
  ordered: readonly Transition[],
  kind: string,
  isGoodNow: boolean | undefined,
): readonly Span[] {
  let results: Result[] = [];
  /** Whether the first result of the container is among them. */
  let isWhole = false;
  for (const transition of ordered) {
    const { atMs, event, guard, data } = transition;
    const last = results.at(-1);
    const open = last?.toMs === undefined ? last : undefined;
    if (open !== undefined) results[results.length - 1] = { ...open, toMs: atMs };
    if (event === 'PROBED' && (guard === 'changesResult' || guard === 'settlesResult')) {
      const isBefore = open?.isGood ?? kind === 'liveness';
      const isGood = data?.outcome === undefined ? !isBefore : data.outcome === 'Success';
      results.push({ fromMs: atMs, isGood });
    } else if (isNoLongerProbed(transition)) isWhole = true;
    else if (open !== undefined) results[results.length - 1] = open;
  }
  const last = results.at(-1);
  const isTurned =
    last !== undefined && last.toMs === undefined && isGoodNow !== undefined && isGoodNow !== last.isGood;
  // What was before the first transition is not known: the last result is that of the status, and each one before it the other one.
  if (isTurned && !isWhole) results = results.map((result) => ({ ...result, isGood: !result.isGood }));
  const said = GOOD[kind] ?? 'successful';
  return results.map(({ fromMs, toMs, isGood }) => ({
    fromMs,
    toMs,
    kind: isGood ? 'ok' : 'failed',
    text: isGood ? said : `not ${said}`,
  }));
}

/** The container has ended, or another instance of it has begun. */
function isNoLongerProbed({ event, from, to }: Transition): boolean {
  if (event === 'PROBED') return false;
  return to === 'Idle' || to === 'Stopped' || to === 'Draining' || (event === 'STATUS' && to === from);
}

/** `isOfNode`: the pods that they are about are named. */
export function eventLane(events: readonly CoreEvent[], isOfNode = false): Lane {
  const marks = events.flatMap((event) => {
    const { type, reason, message, count = 1, firstTimestamp, lastTimestamp, eventTime } = event;
    const atMs = timeOf(lastTimestamp ?? eventTime ?? event.metadata.creationTimestamp);
    const firstMs = timeOf(firstTimestamp);
    const kind = type === 'Warning' ? 'attention' : '';
    const pod = isOfNode && event.involvedObject.kind === 'Pod' ? ` ${event.involvedObject.name}` : '';
    const text = `${reason ?? ''}${pod}: ${message ?? ''}`;
    const first =
      count > 1 && firstMs !== undefined
        ? [{ atMs: firstMs, kind, text: `${text} (the first of ${count} times)` }]
        : [];
    return [...first, ...(atMs === undefined ? [] : [{ atMs, kind, text }])];
  });
  return { name: 'events', spans: [], marks: marks.sort((a, b) => a.atMs - b.atMs) };
}

function statusOf(pod: PodView | undefined, container: string): ContainerStatus | undefined {
  const { initContainerStatuses = [], containerStatuses = [] } = pod?.status ?? {};
  return [...initContainerStatuses, ...containerStatuses].find(({ name }) => name === container);
}

/** Undefined where there is none. Through JSON a date has become a text. */
function timeOf(time: Date | string | undefined): number | undefined {
  const atMs = new Date(time ?? Number.NaN).getTime();
  return Number.isNaN(atMs) || atMs <= 0 ? undefined : atMs;
}
