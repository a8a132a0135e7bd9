import type { WorkerMetricsApi } from '../../../../src/agent/server/metrics/node-metrics.ts';
/** Reads metrics for a test. */
import type { Metric } from '../../../../src/agent/server/metrics/metric-text.ts';

/** The samples of metrics, without the buckets of histograms: `name{labels}` with value and time. */
export function samplesOf(metrics: readonly Metric[]): Readonly<Record<string, string>> {
  const lines = metrics.flatMap(({ samples }) => samples.join('').split('\n').filter(Boolean));
  const pairs = lines.filter((line) => !line.includes('_bucket{')).map(split);
  return Object.fromEntries(pairs);
}

/** The samples whose names begin so. */
export function samplesNamed(metrics: readonly Metric[], name: string): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(samplesOf(metrics)).filter(([key]) => key.startsWith(name)));
}

function split(line: string): [string, string] {
  const end = line.includes('}') ? line.lastIndexOf('}') + 1 : line.indexOf(' ');
  return [line.slice(0, end), line.slice(end + 1)];
}

/** What an agent without pods answers. */
export const NO_WORKERS: WorkerMetricsApi = {
  workers: () => [],
  desiredPods: () => [],
  mirrorPodCount: () => 0,
  lastRelistMs: () => undefined,
  cgroupVersion: () => undefined,
};
