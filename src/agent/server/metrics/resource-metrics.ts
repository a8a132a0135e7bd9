/** `/metrics/resource`: what metrics-server reads, from the kubelet's Summary. */
import type { CPUStats, MemoryStats, Summary, SwapStats } from '../../../types/stats.ts';
import { labelText, type Labels, type Metric, type MetricType, sample } from './metric-text.ts';

const NS_PER_S = 1e9;

interface Used {
  readonly labels: Labels;
  readonly startTime?: string;
  readonly cpu?: CPUStats;
  readonly memory?: MemoryStats;
  readonly swap?: SwapStats;
}

type Reading = readonly [value: number | undefined, time: string | undefined];

/** Undefined: the figures could not be read. */
export function resourceMetrics(summary: Summary | undefined): readonly Metric[] {
  const { node, pods = [] } = summary ?? {};
  const nodes: readonly Used[] = node ? [{ ...node, labels: {} }] : [];
  const ofPods = pods.map((pod) => ({ ...pod, labels: podLabels(pod.podRef) }));
  const containers = pods.flatMap(({ podRef, containers = [] }) =>
    containers.map((container) => ({
      ...container,
      labels: { container: container.name, ...podLabels(podRef) },
    })),
  );
  return [
    ...metricsOf('node', nodes),
    ...metricsOf('pod', ofPods),
    ...metricsOf('container', containers),
    swapLimits(containers),
    startTimes(containers),
    gauge(
      'resource_scrape_error',
      '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise',
      [sample('resource_scrape_error', '', summary === undefined ? 1 : 0)],
    ),
  ];
}

function metricsOf(what: 'node' | 'pod' | 'container', all: readonly Used[]): readonly Metric[] {
  const seconds = (ns: number | undefined) => (ns === undefined ? undefined : ns / NS_PER_S);
  const swapHelp = 'Reported only on non-windows systems';
  return [
    metricOf(
      'counter',
      `${what}_cpu_usage_seconds_total`,
      `[STABLE] Cumulative cpu time consumed by the ${what} in core-seconds`,
      all,
      ({ cpu }) => [seconds(cpu?.usageCoreNanoSeconds), cpu?.time],
    ),
    metricOf(
      'gauge',
      `${what}_memory_working_set_bytes`,
      `[STABLE] Current working set of the ${what} in bytes`,
      all,
      ({ memory }) => [memory?.workingSetBytes, memory?.time],
    ),
    metricOf(
      'gauge',
      `${what}_swap_usage_bytes`,
      `[ALPHA] Current ${what === 'node' ? 'swap usage of the node' : `amount of the ${what} swap usage`} in bytes. ${swapHelp}`,
      all,
      ({ swap }) => [swap?.swapUsageBytes, swap?.time],
    ),
  ];
}

function swapLimits(containers: readonly Used[]): Metric {
  const help =
    '[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems';
  return metricOf('gauge', 'container_swap_limit_bytes', help, containers, ({ swap }) => [
    swap?.swapAvailableBytes === undefined ? undefined : swap.swapAvailableBytes + (swap.swapUsageBytes ?? 0),
    swap?.time,
  ]);
}

function metricOf(
  type: MetricType,
  name: string,
  help: string,
  all: readonly Used[],
  readingOf: (used: Used) => Reading,
): Metric {
  const samples = all.flatMap((used) => {
    const [value, time] = readingOf(used);
    if (value === undefined) return [];
    return sample(name, labelText(used.labels), value, time === undefined ? undefined : Date.parse(time));
  });
  return { head: { name, type, help }, samples };
}

function startTimes(containers: readonly Used[]): Metric {
  const name = 'container_start_time_seconds';
  const help = '[STABLE] Start time of the container since unix epoch in seconds';
  const samples = containers.flatMap(({ labels, startTime }) =>
    startTime === undefined ? [] : sample(name, labelText(labels), Date.parse(startTime) / 1000),
  );
  return gauge(name, help, samples);
}

function gauge(name: string, help: string, samples: readonly string[]): Metric {
  return { head: { name, type: 'gauge', help }, samples };
}

function podLabels({ name, namespace }: { readonly name: string; readonly namespace: string }): Labels {
  return { namespace, pod: name };
}
