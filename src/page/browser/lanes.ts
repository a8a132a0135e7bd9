/** What is drawn on the time axis of a pod: lanes with spans, which last, and marks, which are moments. */
import type { ContainerStatus, CoreEvent } from '../../types/kubernetes.ts';
import type { PodView } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';
import { kindOf } from './pod-list.ts';

export interface Span {
  readonly fromMs: number;
  /** Undefined: it goes on. */
  readonly toMs: number | undefined;
  /** For the colour: `rest`, `work`, `trouble`, `ending`, `over`, `wait`. */
  readonly kind: string;
  readonly text: string;
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
}

export function podLanes({ last: pod, transitions, runs }: LaneFacts): readonly Lane[] {
  const ordered = transitions.toReversed();
  return [
    ...stateLanes(ordered, pod),
    ...containerLanes(pod, runs),
    ...probeLanes(ordered, pod),
    ...(pod === undefined ? [] : [eventLane(pod.events)]),
  ].filter(isUsed);
}

/** Of an actor whose states are known before the first transition too, where `state` says where it is now, and since when. */
export function actorLanes(
  ordered: readonly Transition[],
  now?: { readonly state: string; readonly sinceMs?: number },
): readonly Lane[] {
  const moves = ordered.filter(({ from, to }) => from !== to);
  const spans = moves.map(({ atMs, to }, index) => stateSpan(to, atMs, moves[index + 1]?.atMs));
  if (moves.length === 0 && now?.sinceMs !== undefined)
    spans.push(stateSpan(now.state, now.sinceMs, undefined));
  const marks = ordered.map(({ atMs, event, guard, from, to }) => ({
    atMs,
    kind: '',
    text: `${event}${guard === undefined ? '' : ` [${guard}]`}: ${from === to ? from : `${from} → ${to}`}`,
  }));
  return [
    { name: 'state', spans, marks: [] },
    { name: 'transitions', spans: [], marks },
  ].filter(isUsed);
}

function isUsed({ spans, marks }: Lane): boolean {
  return spans.length + marks.length > 0;
}

/** Of the pod's newest actor: its name may have been that of another pod before. */
function stateLanes(ordered: readonly Transition[], pod: PodView | undefined): readonly Lane[] {
  const own = ordered.filter(({ chart }) => chart === 'pod');
  const actor = own.findLast((one) => pod === undefined || one.actor.includes(pod.row.uid))?.actor;
  return actorLanes(
    own.filter((one) => one.actor === actor),
    pod?.row,
  );
}

function stateSpan(state: string, fromMs: number, toMs: number | undefined): Span {
  return { fromMs, toMs, kind: kindOf(state), text: state };
}

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

function containerLanes(pod: PodView | undefined, runs: readonly Run[]): readonly Lane[] {
  const { initContainers = [], containers = [] } = pod?.pod.spec ?? {};
  const names = new Set([
    ...[...initContainers, ...containers].map(({ name }) => name),
    ...runs.map((run) => run.container),
  ]);
  return [...names].map((name) => {
    const own = runs.filter((run) => run.container === name);
    return {
      name: `container ${name}`,
      spans: containerSpans(own, statusOf(pod, name), timeOf(pod?.status?.startTime)),
      marks: [],
    };
  });
}

/** Runs, and the waits before, between and after them. */
function containerSpans(
  runs: readonly Run[],
  status: ContainerStatus | undefined,
  podStartMs: number | undefined,
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
    return [...waits(before, run.startMs, 'waits'), runSpan(run)];
  });
  const last = runs.at(-1);
  if (waiting == null) return last?.endMs === undefined ? spans : [...spans, ...ended(last)];
  return [
    ...spans,
    ...waits(last === undefined ? podStartMs : last.endMs, undefined, `waits: ${waiting.reason ?? ''}`),
  ];
}

function runSpan({ startMs, endMs, exitCode, reason }: Run): Span {
  if (endMs === undefined) return { fromMs: startMs, toMs: undefined, kind: 'rest', text: 'runs' };
  const kind = exitCode === 0 ? 'rest' : 'trouble';
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
    : [{ fromMs: endMs, toMs: undefined, kind: 'over', text: `ended with exit code ${exitCode}` }];
}

const GOOD: Readonly<Record<string, string>> = { readiness: 'ready', liveness: 'alive', startup: 'started' };

/** A lane for each probe whose result has changed. */
function probeLanes(ordered: readonly Transition[], pod: PodView | undefined): readonly Lane[] {
  const own = ordered.filter(
    ({ chart, actor }) => chart === 'probe' && (pod === undefined || actor.includes(pod.row.uid)),
  );
  return [...Map.groupBy(own, ({ actor }) => actor)].map(([actor, transitions]) => {
    const [, container = '', kind = ''] = actor.split(' ');
    const isReady = kind === 'readiness' ? statusOf(pod, container)?.ready : undefined;
    return { name: `${kind} ${container}`, spans: probeSpans(transitions, kind, isReady), marks: [] };
  });
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
    kind: isGood ? 'rest' : 'trouble',
    text: isGood ? said : `not ${said}`,
  }));
}

/** The container has ended, or another instance of it has begun. */
function isNoLongerProbed({ event, from, to }: Transition): boolean {
  if (event === 'PROBED') return false;
  return to === 'Idle' || to === 'Stopped' || to === 'Draining' || (event === 'STATUS' && to === from);
}

function eventLane(events: readonly CoreEvent[]): Lane {
  const marks = events.flatMap((event) => {
    const { type, reason, message, count = 1, firstTimestamp, lastTimestamp, eventTime } = event;
    const atMs = timeOf(lastTimestamp ?? eventTime ?? event.metadata.creationTimestamp);
    const firstMs = timeOf(firstTimestamp);
    const kind = type === 'Warning' ? 'trouble' : '';
    const text = `${reason ?? ''}: ${message ?? ''}`;
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
