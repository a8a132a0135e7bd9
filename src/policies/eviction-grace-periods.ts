/** How long soft thresholds have to be met before pods are evicted. */
import { StateletError } from '../types/errors.ts';
import { type EvictionSignal, isEvictionSignal } from './eviction-signals.ts';

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
const DURATION = /^[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))+$/u;
const PART = /(\d+\.?\d*|\.\d+)([a-zµμ]+)/gu;

/** Milliseconds by signal. Throws a StateletError of kind InvalidArgument. */
export function gracePeriods(texts: Readonly<Record<string, string>>): ReadonlyMap<EvictionSignal, number> {
  const periods = new Map<EvictionSignal, number>();
  for (const [signal, text] of Object.entries(texts)) {
    if (!isEvictionSignal(signal)) throw invalid(`unsupported eviction signal ${signal}`);
    const periodMs = durationMs(text);
    if (periodMs === undefined)
      throw invalid(`eviction grace period of ${signal} must be a duration such as "1m30s": "${text}"`);
    if (periodMs < 0)
      throw invalid(`invalid eviction grace period specified: ${text}, must be a positive value`);
    periods.set(signal, periodMs);
  }
  return periods;
}

/** Of a duration as Go writes it. Only 0 may go without a unit. */
function durationMs(text: string): number | undefined {
  if (/^[+-]?0$/u.test(text)) return 0;
  if (!DURATION.test(text)) return undefined;
  const parts = [...text.matchAll(PART)];
  const ms = parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (UNIT_MS[unit] ?? NaN), 0);
  return text.startsWith('-') ? -ms : ms;
}

function invalid(message: string): StateletError {
  return new StateletError('InvalidArgument', message);
}
