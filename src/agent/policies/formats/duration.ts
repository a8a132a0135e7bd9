/** Durations: how settings are read, and the three ways in which messages write them. */
import { MAX_TIMER_MS } from '../../../types/clock.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const YEAR_MS = 365 * DAY_MS;

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // micro sign
  μs: 1e-3, // Greek mu
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
};
/** Sticky: the parts follow each other without a gap. */
const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/guy;

/** The longest duration that a setting may have: the longest wait of a timer, in whole hours. */
export const MAX_DURATION_MS = Math.floor(MAX_TIMER_MS / HOUR_MS) * HOUR_MS;

/**
 * Milliseconds of a duration as Go writes it and the kubelet's settings hold it: `300ms`, `1m30s`, `1.5h`. Undefined when the
 * text is no duration. Only `0` may go without a unit.
 */
export function parseDuration(text: string): number | undefined {
  const unsigned = text.replace(/^[+-]/u, '');
  if (unsigned === '0') return 0;
  const parts = [...unsigned.matchAll(PART)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== unsigned) return undefined;
  const ms = parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_MS[unit ?? ''] ?? NaN), 0);
  return text.startsWith('-') ? -ms : ms;
}

/** The shortest spelling of whole milliseconds, for settings and our own messages: `1m30s`, `20s`, `1h`, `250ms`. */
export function shortDuration(durationMs: number): string {
  const seconds = Math.floor(durationMs / SECOND_MS);
  const parts: [number, string][] = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
    [durationMs % SECOND_MS, 'ms'],
  ];
  const text = parts.map(([amount, unit]) => (amount === 0 ? '' : `${amount}${unit}`)).join('');
  return text === '' ? '0s' : text;
}

/** As Go prints it, for the kubelet's own messages: `1m20s`, `5m0s`, `1h0m0s`, `500ms`. */
export function goDuration(durationMs: number): string {
  if (durationMs > 0 && durationMs < SECOND_MS) return `${durationMs}ms`;
  const hours = Math.floor(durationMs / HOUR_MS);
  const minutes = Math.floor(durationMs / MINUTE_MS) % 60;
  const seconds = `${(durationMs % MINUTE_MS) / SECOND_MS}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

/** One step of `humanDuration`: the ages below which it holds, its unit, and a smaller unit that is added unless it is 0. */
type AgeStep = readonly [
  belowMs: number,
  unit: string,
  unitMs: number,
  smaller?: readonly [unit: string, unitMs: number],
];

const AGE_STEPS: readonly AgeStep[] = [
  [2 * MINUTE_MS, 's', SECOND_MS],
  [10 * MINUTE_MS, 'm', MINUTE_MS, ['s', SECOND_MS]],
  [3 * HOUR_MS, 'm', MINUTE_MS],
  [8 * HOUR_MS, 'h', HOUR_MS, ['m', MINUTE_MS]],
  [2 * DAY_MS, 'h', HOUR_MS],
  [8 * DAY_MS, 'd', DAY_MS, ['h', HOUR_MS]],
  [2 * YEAR_MS, 'd', DAY_MS],
  [8 * YEAR_MS, 'y', YEAR_MS, ['d', DAY_MS]],
  [Infinity, 'y', YEAR_MS],
];

/**
 * An age as kubectl's tables write it: `45s`, `3m20s`, `12h`, `5d3h`. An age of up to two seconds below zero counts as 0,
 * since clocks differ a little; anything below that is no age.
 */
export function humanDuration(durationMs: number): string {
  if (Number.isNaN(durationMs) || durationMs <= -2 * SECOND_MS) return '<invalid>';
  const ms = Math.max(0, durationMs);
  const step = AGE_STEPS.find(([belowMs]) => ms < belowMs);
  if (step === undefined) return '<invalid>';
  const [, unit, unitMs, smaller] = step;
  const remainder = smaller === undefined ? 0 : Math.floor((ms % unitMs) / smaller[1]);
  const tail = smaller === undefined || remainder === 0 ? '' : `${remainder}${smaller[0]}`;
  return `${Math.floor(ms / unitMs)}${unit}${tail}`;
}
