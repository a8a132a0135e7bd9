/** What `/healthz` and `/healthz/NAME` answer, in the words of the API machinery's health checks. */
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
