/**
 * What a pod and a node cost as there are more of them: hollow nodes, which are the agent itself on a runtime that takes no CPU time, on a
 * real API server. A straight line has the same figures in each row: the ratios are those to the first row.
 * `KUBEBUILDER_ASSETS=DIR npm run bench:scale -- [--quick]`. `--quick`: up to 100 pods on a node and up to 10 nodes.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eachOf } from '../src/system/promises.ts';
import { BIN_ARGS } from '../test/support/built.ts';
import { type ControlPlane, startControlPlane } from '../test/support/control-plane/control-plane.ts';
import { noControlPlaneBecause } from '../test/support/kubernetes-programs.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { memoryOf } from './support/measures.ts';
import { benchOptions } from './support/options.ts';
import type { Taken } from './support/process-meter.ts';
import { rounded } from './support/table.ts';

const METER = fileURLToPath(new URL('./support/process-meter.ts', import.meta.url));
const PODS = '/api/v1/namespaces/default/pods';
const CREATED_AT_ONCE = 20;
const PATIENCE_MS = 600_000;
const POLL_MS = 1_000;

interface Case {
  readonly nodes: number;
  /** On each node. */
  readonly pods: number;
}

/** A pod or a node. */
interface Listed {
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** Of a pod that starts, or of a node that joins. */
interface Cost {
  readonly cpuMs: number;
  readonly memoryKiB: number;
  readonly requests: number;
  readonly delayP99Ms: number;
}

const { quick } = benchOptions({}, {});
const most = quick ? { pods: 100, nodes: 10 } : { pods: 1_000, nodes: 1_000 };
const onOneNode: readonly Case[] = [10, 30, 100, 300, 1_000].map((pods) => ({ nodes: 1, pods }));
const onMany: readonly Case[] = [1, 10, 100, 300, 1_000].map((nodes) => ({ nodes, pods: 1 }));

const missing = noControlPlaneBecause();
if (missing !== undefined) {
  console.error(`bench:scale needs a control plane, and ${missing}`);
  process.exit(2);
}

const dir = mkdtempSync(join(tmpdir(), 'statelet-bench-scale-'));
const controlPlane = await startControlPlane({ programs: 'real' });
try {
  process.stdout.write(`load average before: ${(loadavg()[0] ?? 0).toFixed(2)}\n`);
  const rows: Record<string, object> = {};
  let first: { readonly pod: Cost; readonly node: Cost } | undefined;
  for (const one of onOneNode.filter(({ pods }) => pods <= most.pods)) {
    const costs = await measure(controlPlane, one);
    first ??= costs;
    rows[`a pod that starts, of ${String(one.pods)} on its node`] = row(costs.pod, first.pod);
  }
  first = undefined;
  for (const one of onMany.filter(({ nodes }) => nodes <= most.nodes)) {
    const costs = await measure(controlPlane, one);
    first ??= costs;
    rows[`a node that joins, of ${String(one.nodes)}`] = row(costs.node, first.node);
  }
  console.table(rows);
} finally {
  await controlPlane.stop();
  rmSync(dir, { recursive: true, force: true });
}
process.exit(0);

function row(cost: Cost, first: Cost): object {
  const ratio = (of: (one: Cost) => number) => rounded(of(cost) / of(first));
  return {
    'CPU ms': rounded(cost.cpuMs),
    'CPU ratio': ratio(({ cpuMs }) => cpuMs),
    'memory KiB': rounded(cost.memoryKiB),
    'memory ratio': ratio(({ memoryKiB }) => memoryKiB),
    requests: rounded(cost.requests),
    'requests ratio': ratio(({ requests }) => requests),
    'loop delay p99 ms': rounded(cost.delayP99Ms),
  };
}

/** Runs in a process and with nodes of its own, and leaves nothing in the cluster. */
async function measure(cluster: ControlPlane, { nodes, pods }: Case): Promise<{ pod: Cost; node: Cost }> {
  const prefix = `n${String(nodes)}-p${String(pods)}-`;
  const names = Array.from({ length: nodes }, (_, index) => `${prefix}${String(index + 1)}`);
  const hollow = await startHollow(cluster, prefix, nodes);
  try {
    const before = memoryOf(hollow.pid ?? 0).anonymousMiB;
    await all(cluster, '/api/v1/nodes', nodes, isReady);
    const joined = await costOf(hollow, nodes, before);
    const begun = memoryOf(hollow.pid ?? 0).anonymousMiB;
    const wanted = names.flatMap((node) => Array.from({ length: pods }, (_, index) => podOf(node, index)));
    await eachOf(wanted, CREATED_AT_ONCE, (pod) => cluster.apply(pod));
    await all(cluster, PODS, wanted.length, ({ status }) => status?.phase === 'Running');
    process.stderr.write(`${String(nodes)} nodes with ${String(pods)} pods each: done\n`);
    return { node: joined, pod: await costOf(hollow, wanted.length, begun) };
  } finally {
    hollow.kill();
    await once(hollow, 'exit');
    await none(cluster, `${PODS}?gracePeriodSeconds=0`);
    await none(cluster, '/api/v1/nodes');
  }
}

/** Resolves when it answers, before its nodes have joined. */
async function startHollow(cluster: ControlPlane, prefix: string, nodes: number): Promise<ChildProcess> {
  const root = join(dir, prefix);
  const plan = `${root}plan.yaml`;
  writeFileSync(plan, `names: ${prefix}\ncapacity: { cpu: 1000, memory: 1000Gi, pods: 1100 }\n`);
  const { adminKubeconfig, nodeIp, serverFlags } = cluster;
  const where = ['--kubeconfig', adminKubeconfig, '--node-ip', nodeIp, ...serverFlags, '--root-dir', root];
  const args = ['--import', METER, ...BIN_ARGS, 'hollow', '--nodes', String(nodes), '--plan', plan, ...where];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  await taken(child);
  return child;
}

async function taken(hollow: ChildProcess): Promise<Taken> {
  const answer = once(hollow, 'message') as Promise<[Taken]>;
  hollow.send('take');
  return (await answer)[0];
}

async function costOf(hollow: ChildProcess, count: number, beforeMiB: number): Promise<Cost> {
  const { cpuMs, requests, delayP99Ms } = await taken(hollow);
  const memoryKiB = (memoryOf(hollow.pid ?? 0).anonymousMiB - beforeMiB) * 1024;
  return { cpuMs: cpuMs / count, memoryKiB: memoryKiB / count, requests: requests / count, delayP99Ms };
}

function podOf(nodeName: string, index: number): object {
  const metadata = { name: `${nodeName}-${String(index)}` };
  const containers = [{ name: 'main', image: 'nginx:1' }];
  const spec = {
    nodeName,
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 0,
    containers,
  };
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec };
}

function isReady({ status }: Listed): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
}

/** A server that is busy may not answer in time: it is asked again. */
async function all(
  cluster: ControlPlane,
  path: string,
  count: number,
  is: (one: Listed) => boolean,
): Promise<void> {
  const areAll = async () => {
    const list = await cluster.read<{ items?: Listed[] }>(path).catch(() => undefined);
    return list?.items?.length === count && list.items.every(is);
  };
  const what = `${String(count)} of ${path} to be as wanted`;
  await waitFor(areAll, { what, timeoutMs: PATIENCE_MS, pauseMs: POLL_MS });
}

async function none(cluster: ControlPlane, path: string): Promise<void> {
  const isEmpty = async () => {
    await cluster.deleteAll(path).catch(() => undefined);
    const list = await cluster
      .read<{ items?: object[] }>(`${path.split('?')[0] ?? ''}?limit=1`)
      .catch(() => undefined);
    return list?.items?.length === 0;
  };
  await waitFor(isEmpty, { what: `${path} to be empty`, timeoutMs: PATIENCE_MS, pauseMs: POLL_MS });
}
