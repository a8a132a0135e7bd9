/**
 * What a scrape of metrics costs: CPU time of each path for a node with 100 pods, beside the kubelet's Summary of the same pods, which
 * reads the same files. Needs root, for cgroups. `npm run bench:scrape -- [--pods 100] [--runs 30] [-o json]`.
 */
import { parseArgs } from 'node:util';
import { readNodeInfo } from '../src/agent/runtime/node/machine-facts.ts';
import { AgentMetrics } from '../src/agent/server/metrics/agent-metrics.ts';
import { cadvisorMetrics } from '../src/agent/server/metrics/cadvisor-metrics.ts';
import { metricsText } from '../src/agent/server/metrics/metric-text.ts';
import { nodeMetrics } from '../src/agent/server/metrics/node-metrics.ts';
import { processMetrics } from '../src/agent/server/metrics/process-metrics.ts';
import { resourceMetrics } from '../src/agent/server/metrics/resource-metrics.ts';
import { logMetric } from '../src/agent/server/metrics/metrics-routes.ts';
import type { ServedPod } from '../src/types/served-pod.ts';
import { testPod } from '../test/support/pods.ts';
import { median } from './support/measures.ts';
import { ScrapedNode } from './support/scraped-node.ts';

const WANTED_MS = 20;
/** Before the measurement, so that the code is compiled. */
const WARM_UP_RUNS = 10;
const US_PER_MS = 1000;
const MEASURED = 100_000;

const { values } = parseArgs({
  options: {
    pods: { type: 'string', default: '100' },
    runs: { type: 'string', default: '30' },
    output: { type: 'string', short: 'o', default: 'text' },
  },
});
const count = Number(values.pods);
const runs = Number(values.runs);

const machine = await readNodeInfo();
const node = new ScrapedNode(count);
const counted = new AgentMetrics();
const served = node.pods.map(({ uid, name }): ServedPod => ({
  pod: testPod({ name, uid }),
  state: 'Syncing.Settled',
}));
for (const { uid } of node.pods) liveOf(uid);

/** What the agent tells of a pod that starts. */
function liveOf(uid: string): void {
  counted.podAdded(uid, true);
  for (const state of ['Syncing.Starting.New', 'Syncing.Working', 'Syncing.Settled'])
    counted.podState(uid, state);
  counted.podEvent(uid, 'SyncPodCreate');
  counted.podEffect(uid, 'sync')();
  for (const operation of ['run_podsandbox', 'create_container', 'start_container', 'container_status'])
    counted.runtimeOperation(operation)('success');
}

const summary = (onlyCPUAndMemory: boolean) => node.stats.summary({ onlyCPUAndMemory });
const nodeApi = {
  nodeName: 'node',
  agentCounters: counted,
  pods: () => served,
  runtimePods: () => node.pods,
  certificateEnds: () => ({ client: undefined, serving: undefined }),
  workers: () => [],
  desiredPods: () => [],
  mirrorPodCount: () => 0,
  lastRelistMs: () => undefined,
  cgroupVersion: () => 1 as const,
  metricsProvider: 'cadvisor' as const,
  pluginSockets: () => [],
  claimedVolume: () => undefined,
};
const SCRAPES: Readonly<Record<string, () => string | Promise<string>>> = {
  'Summary, CPU and memory': async () => JSON.stringify(await summary(true)),
  '/metrics': async () =>
    metricsText([
      logMetric(await node.stats.logFigures()),
      ...nodeMetrics(nodeApi, Date.now()),
      ...processMetrics(),
      ...counted.metrics(),
    ]),
  '/metrics/resource': async () => metricsText(resourceMetrics(await summary(true))),
  '/metrics/cadvisor': async () => metricsText(cadvisorMetrics(await node.stats.groupFigures(), machine)),
};

interface Cost {
  readonly path: string;
  readonly cpuMs: number;
  readonly bytes: number;
}

async function costOf(path: string, scrape: () => string | Promise<string>): Promise<Cost> {
  const times: number[] = [];
  let bytes = 0;
  for (let run = -WARM_UP_RUNS; run < runs; run++) {
    const before = process.cpuUsage();
    const text = await scrape();
    const { user, system } = process.cpuUsage(before);
    bytes = Buffer.byteLength(text);
    if (run >= 0) times.push((user + system) / US_PER_MS);
  }
  return { path, cpuMs: median(times), bytes };
}

function measurementUs(): number {
  const before = process.cpuUsage();
  for (let index = 0; index < MEASURED; index++) counted.runtimeOperation('list_containers')('success');
  const { user, system } = process.cpuUsage(before);
  return (user + system) / MEASURED;
}

try {
  const costs: Cost[] = [];
  for (const [path, scrape] of Object.entries(SCRAPES)) costs.push(await costOf(path, scrape));
  const base = costs[0]?.cpuMs ?? Number.NaN;
  const report = {
    pods: count,
    runs,
    wantedMs: WANTED_MS,
    costs: costs.map((cost) => ({ ...cost, ratioToSummary: cost.cpuMs / base })),
    measurementUs: measurementUs(),
  };
  if (values.output === 'json') console.log(JSON.stringify(report, null, 2));
  else {
    console.log(`${count} pods, median of ${runs} scrapes; wanted: below ${WANTED_MS} ms`);
    for (const { path, cpuMs, bytes, ratioToSummary } of report.costs) {
      const size = `${(bytes / 1024).toFixed(0)} KiB`;
      console.log(
        `${path.padEnd(26)} ${cpuMs.toFixed(1).padStart(6)} ms ${size.padStart(9)}  ${ratioToSummary.toFixed(2)} of the Summary`,
      );
    }
    console.log(`one measured call of the runtime: ${report.measurementUs.toFixed(2)} µs`);
  }
} finally {
  await node.close();
}
