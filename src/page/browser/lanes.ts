/** What is drawn on a time axis: lanes with spans, which last, and marks, which are moments. */
import type { CoreEvent } from '../../types/kubernetes.ts';
import type { HealthKind } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';

export interface Span {
  readonly fromMs: number;
  /** Undefined: it goes on. */
  readonly toMs: number | undefined;
  /** For the colour: that of the same health, `calm`, `wait`. */
  readonly kind: HealthKind | 'calm' | 'wait';
  readonly text: string;
  /** Its height, from 0 to 1. */
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

/** The lanes of an actor. `now`: its state and since when, which also gives the state before the first transition. `kindOf`: of a state. */
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
 * From time to time an actor at rest looks for work, and one that backs off tries again. If it finds none, or fails again, the rest stays one span; a
 * mark shows the look.
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

export function isUsed({ spans, marks }: Lane): boolean {
  return spans.length + marks.length > 0;
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

/** Undefined where there is none. Through JSON a date has become a text. */
export function timeOf(time: Date | string | undefined): number | undefined {
  const atMs = new Date(time ?? Number.NaN).getTime();
  return Number.isNaN(atMs) || atMs <= 0 ? undefined : atMs;
}
