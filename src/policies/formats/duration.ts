/** Durations as Go writes them and the kubelet's settings hold them: `300ms`, `1m30s`, `1.5h`. */
import { MAX_TIMER_MS } from '../../types/clock.ts';

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3, // micro sign
  μs: 1e-3, // Greek mu
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};
const PART = /(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gu;

/** The longest duration of a setting: what a timer can wait, in whole hours. */
export const MAX_DURATION_MS = Math.floor(MAX_TIMER_MS / 3_600_000) * 3_600_000;

/** Milliseconds, or undefined when the text is no duration. Only `0` may go without a unit. */
export function parseDuration(text: string): number | undefined {
  const unsigned = text.replace(/^[+-]/u, '');
  if (unsigned === '0') return 0;
  const parts = [...unsigned.matchAll(PART)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== unsigned) return undefined;
  const ms = parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_MS[unit ?? ''] ?? NaN), 0);
  return text.startsWith('-') ? -ms : ms;
}

/** The shortest spelling of whole milliseconds: `1m30s`, `20s`, `1h`, `250ms`. */
export function formatDuration(durationMs: number): string {
  const seconds = Math.floor(durationMs / 1000);
  const parts: [number, string][] = [
    [Math.floor(seconds / 3600), 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
    [durationMs % 1000, 'ms'],
  ];
  const text = parts.map(([amount, unit]) => (amount === 0 ? '' : `${amount}${unit}`)).join('');
  return text === '' ? '0s' : text;
}
