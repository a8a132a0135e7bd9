/** The paths below `/metrics`, as the kubelet has them. */
import type { ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import { readNodeInfo } from '../../runtime/node/machine-facts.ts';
import type { NodeApi } from '../routes/node-api.ts';
import type { Route, RouteRequest } from '../routes/route.ts';
import { cadvisorMetrics } from './cadvisor-metrics.ts';
import { type Metric, METRICS_TYPE, metricsText } from './metric-text.ts';
import { nodeMetrics, type NodeMetricsApi } from './node-metrics.ts';
import { processMetrics, startTimeMetric } from './process-metrics.ts';
import { resourceMetrics } from './resource-metrics.ts';
import { logMetric, volumeMetrics } from './volume-metrics.ts';

const compress = promisify(gzip);
/** Metrics repeat their labels: the lowest level makes them a tenth already. */
const GZIP = { level: constants.Z_BEST_SPEED };

export function metricsRoutes(
  api: NodeMetricsApi & Pick<NodeApi, 'summary' | 'groupFigures' | 'claimFigures' | 'logFigures'>,
): readonly Route[] {
  const { counted } = api;
  let machine: ReturnType<typeof readNodeInfo> | undefined;
  return [
    route('/metrics', async () => [
      ...volumeMetrics(await api.claimFigures()),
      logMetric(await api.logFigures()),
      ...nodeMetrics(api, Date.now()),
      ...processMetrics(),
      ...(counted?.metrics() ?? []),
    ]),
    route('/metrics/cadvisor', async () => {
      machine ??= readNodeInfo();
      return cadvisorMetrics(await api.groupFigures(), await machine);
    }),
    route('/metrics/resource', async () =>
      resourceMetrics(await api.summary({ onlyCPUAndMemory: true }).catch(() => undefined)),
    ),
    route('/metrics/probes', () => [startTimeMetric(), ...(counted?.probeMetrics() ?? [])]),
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
