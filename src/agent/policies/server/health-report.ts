/** What `/healthz` and `/healthz/NAME` answer, in the words of the API machinery's health checks, and what `/debug/flags/v` takes. */
import { invalid } from '../../../types/errors.ts';

export interface HealthCheck {
  readonly name: string;
  /** Why the check fails; undefined when it passes. */
  readonly problem: string | undefined;
}

export interface HealthReport {
  readonly isHealthy: boolean;
  readonly text: string;
}

/**
 * The answer for all checks together. Everybody may ask for it, so it does not say why a check failed. `verbose` and `exclude`
 * are parameters of the query: `exclude` leaves the check of that name out, and may be repeated.
 */
export function healthReport(checks: readonly HealthCheck[], query: URLSearchParams): HealthReport {
  const excluded = new Set(query.getAll('exclude'));
  const lines = checks.map((check) => `${lineOf(check, excluded.has(check.name))}\n`);
  const unknown = [...excluded].filter((name) => !checks.some((check) => check.name === name));
  if (unknown.length > 0) {
    const names = unknown.sort().map((name) => JSON.stringify(name));
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names.join(', ')}\n`);
  }
  const isHealthy = checks.every(({ name, problem }) => problem === undefined || excluded.has(name));
  if (!isHealthy) return { isHealthy, text: `${lines.join('')}healthz check failed\n` };
  return { isHealthy, text: query.has('verbose') ? `${lines.join('')}healthz check passed\n` : 'ok' };
}

function lineOf({ name, problem }: HealthCheck, isExcluded: boolean): string {
  if (isExcluded) return `[+]${name} excluded: ok`;
  return problem === undefined ? `[+]${name} ok` : `[-]${name} failed: reason withheld`;
}

/** The answer for one check. */
export function checkReport({ problem }: HealthCheck): HealthReport {
  if (problem === undefined) return { isHealthy: true, text: 'ok' };
  return { isHealthy: false, text: `internal server error: ${problem}\n` };
}

// What may be PUT to `/debug/flags/v`: a verbosity of klog, in Go's rules for numbers and with Go's errors.

const UINT32_MAX = 2 ** 32 - 1;

const INT32_MAX = 2 ** 31 - 1;

/** Throws `InvalidArgument` with the kubelet's message. */
export function verbosityOf(text: string): number {
  const quoted = JSON.stringify(text);
  if (!/^\d+$/u.test(text)) throw invalid(`strconv.ParseUint: parsing ${quoted}: invalid syntax`);
  const level = Number(text);
  if (level > UINT32_MAX) throw invalid(`strconv.ParseUint: parsing ${quoted}: value out of range`);
  if (level > INT32_MAX) {
    const problem = `strconv.ParseInt: parsing ${quoted}: value out of range`;
    throw invalid(`failed set klog.logging.verbosity ${text}: ${problem}`);
  }
  return level;
}
