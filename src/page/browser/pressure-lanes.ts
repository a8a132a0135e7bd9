/** The pressure of the node over time: its conditions, and how much it had left beside its thresholds. */
import { figureText, leftText } from './amounts.ts';
import type { PressureFigure } from '../../types/page-views.ts';
import type { Transition } from '../../types/transition.ts';
import type { Lane, Span } from './lanes.ts';

const CONDITIONS = ['Memory', 'Disk', 'PID'] as const;
const LINGERS: Partial<Span> = { kind: 'wait', text: 'was short a moment ago: the condition still holds' };

/** `ordered`: transitions of the chart of eviction. The state before the first one is its source state. */
export function pressureLanes(ordered: readonly Transition[], startedMs: number): readonly Lane[] {
  return CONDITIONS.map((condition) => {
    const spans: Span[] = [];
    const first = ordered[0];
    const add = (fromMs: number, state: string) => {
      const last = spans.at(-1);
      const next = pressureSpan(fromMs, state);
      if (last?.text === next.text) return;
      if (last !== undefined) spans[spans.length - 1] = { ...last, toMs: fromMs };
      spans.push(next);
    };
    add(Math.min(startedMs, first?.atMs ?? startedMs), conditionOf(first?.from ?? '', condition));
    for (const { atMs, to } of ordered) add(atMs, conditionOf(to, condition));
    return { name: `${condition}Pressure`, spans, marks: [] };
  });
}

function pressureSpan(fromMs: number, state: string): Span {
  const span: Span = { fromMs, toMs: undefined, kind: 'ok', text: 'no pressure' };
  if (state.endsWith('Lingering')) return { ...span, ...LINGERS };
  return state.startsWith('Present') ? { ...span, kind: 'attention', text: 'under pressure' } : span;
}

/** `Present.Observed` of `…,Pressure.Memory.Present.Observed,Disk.Absent,…`. */
function conditionOf(state: string, condition: string): string {
  const part = state.slice(Math.max(0, state.indexOf('Pressure.')));
  return new RegExp(`\\b${condition}\\.([\\w.]+)`, 'u').exec(part)?.[1] ?? 'Absent';
}

/** A measurement at one moment. */
export interface Measured {
  readonly atMs: number;
  readonly figures: readonly PressureFigure[];
}

/** Each signal is recorded at least every ten minutes: in a longer gap it was not measured. */
const HOLDS_MS = 660_000;

/** The measurements in the recorded transitions that the server sends. */
export function recordedMeasurements(transitions: readonly Transition[]): readonly Measured[] {
  return transitions.flatMap(({ atMs, data }) => {
    const figures = data?.figures;
    return Array.isArray(figures) ? [{ atMs, figures: figures as readonly PressureFigure[] }] : [];
  });
}

/** A lane for each signal. `measured`: in any order. */
export function levelLanes(measured: readonly Measured[]): readonly Lane[] {
  const all = measured
    .flatMap(({ atMs, figures }) => figures.map((figure) => ({ atMs, figure })))
    .sort((a, b) => a.atMs - b.atMs);
  return [...Map.groupBy(all, ({ figure }) => figure.signal)].flatMap(([name, own]) => {
    const last = own.at(-1)?.figure;
    if (last === undefined) return [];
    const spans = own.map(({ atMs, figure }, index) => {
      const next = own[index + 1]?.atMs;
      const ends = next === undefined ? undefined : Math.min(next, atMs + HOLDS_MS);
      return levelSpan(figure, atMs, ends);
    });
    return [
      {
        name,
        spans,
        marks: [],
        level: { now: leftText(name, last.left, last.whole), limits: limitsOf(last) },
      },
    ];
  });
}

function levelSpan(figure: PressureFigure, fromMs: number, toMs: number | undefined): Span {
  const { signal, left, whole, hard, soft } = figure;
  const below =
    left < (hard ?? 0)
      ? ', below the hard threshold'
      : left < (soft ?? 0)
        ? ', below the soft threshold'
        : '';
  return {
    ...{ fromMs, toMs, text: `${leftText(signal, left, whole)}${below}` },
    kind: below === '' ? 'calm' : 'attention',
    level: shareOf(left, whole),
  };
}

function limitsOf({ signal, whole, hard, soft }: PressureFigure): NonNullable<Lane['level']>['limits'] {
  const limits = Object.entries({ hard, soft });
  return limits.flatMap(([kind, limit]) =>
    limit === undefined
      ? []
      : [{ kind, at: shareOf(limit, whole), text: `${kind} threshold: ${figureText(signal, limit)}` }],
  );
}

const shareOf = (part: number, whole: number): number =>
  whole <= 0 ? 0 : Math.min(1, Math.max(0, part / whole));
