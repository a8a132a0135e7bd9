/** How long soft thresholds have to be met before pods are evicted. */
import { StateletError } from '../types/errors.ts';
import { parseDuration } from './duration.ts';
import { type EvictionSignal, isEvictionSignal } from './eviction-signals.ts';

/** Milliseconds by signal. Throws a StateletError of kind InvalidArgument. */
export function gracePeriods(texts: Readonly<Record<string, string>>): ReadonlyMap<EvictionSignal, number> {
  const periods = new Map<EvictionSignal, number>();
  for (const [signal, text] of Object.entries(texts)) {
    if (!isEvictionSignal(signal)) throw invalid(`unsupported eviction signal ${signal}`);
    const periodMs = parseDuration(text);
    if (periodMs === undefined)
      throw invalid(`eviction grace period of ${signal} must be a duration such as "1m30s": "${text}"`);
    if (periodMs < 0)
      throw invalid(`invalid eviction grace period specified: ${text}, must be a positive value`);
    periods.set(signal, periodMs);
  }
  return periods;
}

function invalid(message: string): StateletError {
  return new StateletError('InvalidArgument', message);
}
