/** How long thresholds have to be met before pods are evicted. */
import { StateletError } from '../../types/errors.ts';
import { parseDuration } from '../formats/duration.ts';
import { isResourceSignal, type ResourceSignal } from './signals.ts';

/** Milliseconds by signal. Throws a StateletError of kind InvalidArgument. */
export function gracePeriods(texts: Readonly<Record<string, string>>): ReadonlyMap<ResourceSignal, number> {
  return new Map(
    Object.entries(texts).map(([signal, text]) => {
      if (!isResourceSignal(signal)) throw invalid(`unsupported eviction signal ${signal}`);
      return [signal, gracePeriodMs(signal, text)];
    }),
  );
}

/** Throws a StateletError of kind InvalidArgument. */
export function gracePeriodMs(signal: string, text: string): number {
  const periodMs = parseDuration(text);
  if (periodMs === undefined)
    throw invalid(`eviction grace period of ${signal} must be a duration such as "1m30s": "${text}"`);
  if (periodMs < 0)
    throw invalid(`invalid eviction grace period specified: ${text}, must be a positive value`);
  return periodMs;
}

function invalid(message: string): StateletError {
  return new StateletError('InvalidArgument', message);
}
