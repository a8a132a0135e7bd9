/**
 * What a scrape of metrics costs: CPU time of each path for a node with 100 pods, beside the kubelet's Summary of the same pods, which
 * reads the same files. Needs root, for cgroups. `npm run bench:scrape -- [--pods 100] [--runs 30] [-o json]`.
 */
import { availableParallelism, totalmem } from 'node:os';
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
import { benchOptions } from './support/options.ts';
import { ScrapedNode } from './support/scraped-node.ts';
import { type Compared, printTable } from './support/table.ts';

const WANTED_MS = 20;
const SUMMARY = 'Summary, CPU and memory';
/** Before the measurement, so that the code is compiled. */
const WARM_UP_RUNS = 10;
const US_PER_MS = 1000;
const MEASURED = 100_000;

const { pods: count, runs } = benchOptions(
  {
    pods: { usual: 100, quick: 100 },
    runs: { usual: 30, quick: 5 },
  },
  {},
);

const machine = { ...(await readNodeInfo()), cpus: availableParallelism(), memoryBytes: totalmem() };
const node = new ScrapedNode(count);
const counted = new AgentMetrics();
const served = node.pods.map(({ uid, name }): ServedPod => ({
  pod: testPod({ name, uid }),
  state: 'Syncing.Settled',
}));
for (const { uid } of node.pods) liveOf(uid);

/** Takes the measurements that the agent takes for a pod that starts. */
function liveOf(uid: string): void {
  counted.pods.added(uid, true);
  for (const state of ['Syncing.Starting.New', 'Syncing.Working', 'Syncing.Settled'])
    counted.pods.inState(uid, state);
  counted.pods.sent(uid, 'SyncPodCreate');
  counted.pods.effect(uid, 'sync')();
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
  readonly cpuMs: number;
  readonly kib: number;
}

async function costOf(scrape: () => string | Promise<string>): Promise<Cost> {
  const times: number[] = [];
  let bytes = 0;
  for (let run = -WARM_UP_RUNS; run < runs; run++) {
    const before = process.cpuUsage();
    const text = await scrape();
    const { user, system } = process.cpuUsage(before);
    bytes = Buffer.byteLength(text);
    if (run >= 0) times.push((user + system) / US_PER_MS);
  }
  return { cpuMs: median(times), kib: bytes / 1024 };
}

function measurementUs(): number {
  const before = process.cpuUsage();
  for (let index = 0; index < MEASURED; index++) counted.runtimeOperation('list_containers')('success');
  const { user, system } = process.cpuUsage(before);
  return (user + system) / MEASURED;
}

try {
  const beside = await costOf(async () => JSON.stringify(await summary(true)));
  const rows: Record<string, Compared> = {};
  for (const [path, scrape] of Object.entries(SCRAPES)) {
    const { cpuMs, kib } = await costOf(scrape);
    rows[`${path} (ms of CPU)`] = { figure: cpuMs, beside: SUMMARY, itsFigure: beside.cpuMs };
    rows[`${path} (KiB)`] = { figure: kib, beside: SUMMARY, itsFigure: beside.kib };
  }
  rows['one measured call of the runtime (µs)'] = { figure: measurementUs() };
  console.log(`${count} pods, median of ${runs} scrapes; wanted: below ${WANTED_MS} ms`);
  printTable(rows);
} finally {
  await node.close();
}
