/** The paths below `/metrics`, as the kubelet has them. */
import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { PodLogs } from '../../runtime/stats/stats-provider.ts';
import type { ClaimStats } from '../../../types/stats.ts';
import type { NodeApi } from '../routes/node-api.ts';
import type { Route, RouteRequest } from '../routes/route.ts';
import { cadvisorMetrics } from './cadvisor-metrics.ts';
import { type Labels, type Metric, metric, METRICS_TYPE, metricsText } from './metric-text.ts';
import { nodeMetrics, type NodeMetricsApi } from './node-metrics.ts';
import { processMetrics, startTimeMetric } from './process-metrics.ts';
import { resourceMetrics } from './resource-metrics.ts';

const compress = promisify(gzip);
/** Metrics repeat their labels: the lowest level makes them a tenth already. */
const GZIP = { level: constants.Z_BEST_SPEED };

export function metricsRoutes(
  api: NodeMetricsApi & Pick<NodeApi, 'summary' | 'groupFigures' | 'machine' | 'claimFigures' | 'logFigures'>,
): readonly Route[] {
  const { agentCounters } = api;
  return [
    route('/metrics', async () => [
      ...volumeMetrics(await api.claimFigures()),
      logMetric(await api.logFigures()),
      ...nodeMetrics(api, Date.now()),
      ...processMetrics(),
      ...(agentCounters?.metrics() ?? []),
    ]),
    route('/metrics/cadvisor', async () => cadvisorMetrics(await api.groupFigures(), await api.machine())),
    route('/metrics/resource', async () =>
      resourceMetrics(await api.summary({ onlyCPUAndMemory: true }).catch(() => undefined)),
    ),
    route('/metrics/probes', () => [startTimeMetric(), ...(agentCounters?.probeMetrics() ?? [])]),
    route('/metrics/slis', () => [startTimeMetric()]),
  ];
}

/** Clients that ask while metrics are being read get the same answer. */
function route(path: string, read: () => readonly Metric[] | Promise<readonly Metric[]>): Route {
  const readText = async () => metricsText(await read());
  let reading: Promise<string> | undefined;
  return {
    path,
    handle: async (request, response) => {
      reading ??= readText().finally(() => (reading = undefined));
      await answer(request, response, await reading);
    },
  };
}

async function answer({ raw }: RouteRequest, response: ServerResponse, text: string): Promise<void> {
  const headers = { 'Content-Type': METRICS_TYPE };
  if (!acceptsGzip(raw.headers['accept-encoding'])) {
    response.writeHead(200, { ...headers, 'Content-Length': Buffer.byteLength(text) }).end(text);
    return;
  }
  const body = await compress(text, GZIP);
  response
    .writeHead(200, { ...headers, 'Content-Encoding': 'gzip', 'Content-Length': body.length })
    .end(body);
}

/** `gzip;q=0` refuses it. */
function acceptsGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '').split(',');
  return codings.some((coding) => /^\s*gzip\s*(?:;\s*q=(?!0(?:\.0*)?\s*$)|$)/i.test(coding));
}

const GAUGES = [
  ['capacity_bytes', 'Capacity in bytes of the volume', 'capacityBytes'],
  ['available_bytes', 'Number of available bytes in the volume', 'availableBytes'],
  ['used_bytes', 'Number of used bytes in the volume', 'usedBytes'],
  ['inodes', 'Maximum number of inodes in the volume', 'inodes'],
  ['inodes_free', 'Number of free inodes in the volume', 'inodesFree'],
  ['inodes_used', 'Number of used inodes in the volume', 'inodesUsed'],
] as const;

/** Of volumes with a PersistentVolumeClaim. As with the kubelet, a claim of several pods is shown once, and claims are sorted. */
export function volumeMetrics(figures: readonly ClaimStats[]): readonly Metric[] {
  const byClaim = new Map<string, readonly [Labels, ClaimStats]>();
  for (const stats of figures) {
    const { name, namespace } = stats.pvcRef;
    const key = `${namespace}/${name}`;
    if (!byClaim.has(key)) byClaim.set(key, [{ namespace, persistentvolumeclaim: name }, stats]);
  }
  const claims = [...byClaim].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, claim]) => claim);
  return GAUGES.map(([name, help, figure]) =>
    metric(
      { name: `kubelet_volume_stats_${name}`, type: 'gauge', help: `[ALPHA] ${help}` },
      claims.map(([labels, stats]) => [labels, stats[figure]]),
    ),
  );
}

/** How much of the disk logs take. As with the kubelet, only those of containers in the Summary. */
export function logMetric(figures: readonly PodLogs[]): Metric {
  const head = {
    name: 'kubelet_container_log_filesystem_used_bytes',
    type: 'gauge',
    help: "[ALPHA] Bytes used by the container's logs on the filesystem.",
  } as const;
  const rows = figures.flatMap(({ pod: { uid, namespace, name }, used }) =>
    Array.from(
      used,
      ([container, { usedBytes }]) => [{ uid, namespace, pod: name, container }, usedBytes] as const,
    ),
  );
  return metric(head, rows);
}
