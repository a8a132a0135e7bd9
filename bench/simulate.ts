/**
 * The cost of the start and end of a pod for the agent itself, on simulated nodes with a runtime that takes no time: pod lives
 * per second of one process, and memory, for 100 to 10,000 pods on one node and on many nodes. For comparison, in the same
 * process: the same number of bare charts that go through the same states without an agent. `node bench/simulate.ts [--runs N] [--quick]`.
 * `--quick`: one run, up to 1,000 pods on a node and up to 10 nodes.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { median } from './support/measures.ts';
import { benchOptions } from './support/options.ts';
import type { PodCosts } from './support/simulated-pods.ts';
import { type Compared, printTable } from './support/table.ts';

const WORKER = fileURLToPath(new URL('./support/simulated-pods-worker.ts', import.meta.url));
/** A young generation of 4 MB instead of 16 MB is no slower, and needs a quarter less resident memory. */
const NODE_FLAGS = ['--max-semi-space-size=4', '--expose-gc'];
const QUIET = '--disable-warning=ExperimentalWarning';

interface Case {
  readonly nodes: number;
  /** The number of pods on each node. */
  readonly pods: number;
}

const ON_ONE_NODE: readonly Case[] = [100, 1_000, 10_000].map((pods) => ({ nodes: 1, pods }));
const ON_MANY: readonly Case[] = [1, 10, 100].map((nodes) => ({ nodes, pods: 100 }));

const { runs, quick } = benchOptions({ runs: { usual: 3, quick: 1 } }, {});
const most = quick ? { pods: 1_000, nodes: 10 } : { pods: 10_000, nodes: 100 };

/** Runs a case in its own process, so that it finds no compiled code and no garbage of another case. */
function measure({ nodes, pods }: Case): PodCosts {
  const args = [...NODE_FLAGS, QUIET, WORKER, String(nodes), String(pods)];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the worker failed: ${stderr}`);
  return JSON.parse(stdout) as PodCosts;
}

function costsOf(one: Case): PodCosts {
  const all = Array.from({ length: runs }, () => measure(one));
  const pick = (of: (costs: PodCosts) => number) => median(all.map(of));
  return {
    livesPerSecond: pick(({ livesPerSecond }) => livesPerSecond),
    bareLivesPerSecond: pick(({ bareLivesPerSecond }) => bareLivesPerSecond),
    heapPerPodKiB: pick(({ heapPerPodKiB }) => heapPerPodKiB),
    residentMiB: pick(({ residentMiB }) => residentMiB),
  };
}

const rows: Record<string, Compared> = {};
const US = 1e6;
for (const cases of [ON_ONE_NODE, ON_MANY]) {
  let firstKiB: number | undefined;
  for (const one of cases.filter(({ pods, nodes }) => pods <= most.pods && nodes <= most.nodes)) {
    const costs = costsOf(one);
    firstKiB ??= costs.heapPerPodKiB;
    const name = `${one.nodes} nodes, ${one.pods} pods each`;
    rows[`${name}: a life (µs)`] = {
      figure: US / costs.livesPerSecond,
      beside: 'a bare chart',
      itsFigure: US / costs.bareLivesPerSecond,
    };
    rows[`${name}: heap of a pod (KiB)`] = {
      figure: costs.heapPerPodKiB,
      beside: 'the fewest pods',
      itsFigure: firstKiB,
    };
    rows[`${name}: resident (MiB)`] = { figure: costs.residentMiB };
  }
}
process.stdout.write(`median of ${runs} runs; a life is a pod added, running, removed and forgotten\n`);
printTable(rows);
