/**
 * The cost of the start and end of a pod for the agent itself, on simulated nodes with a runtime that takes no time: pod lives
 * per second of one process, and memory, for 100 to 10,000 pods on one node and on many nodes. For comparison, in the same
 * process: the same number of bare charts that go through the same states without an agent. `node bench/simulate.ts [--runs N] [--quick]`.
 * `--quick`: one run, up to 1,000 pods on a node and up to 10 nodes.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median } from './support/measures.ts';
import type { PodCosts } from './support/simulated-pods.ts';

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

const { values } = parseArgs({
  options: { runs: { type: 'string' }, quick: { type: 'boolean', default: false } },
});
const runs = Number(values.runs ?? (values.quick ? 1 : 3));
const most = values.quick ? { pods: 1_000, nodes: 10 } : { pods: 10_000, nodes: 100 };

/** Runs a case in its own process, so that it finds no compiled code and no garbage of another case. */
function measure({ nodes, pods }: Case): PodCosts {
  const args = [...NODE_FLAGS, QUIET, WORKER, String(nodes), String(pods)];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`the worker failed: ${stderr}`);
  return JSON.parse(stdout) as PodCosts;
}

function row({ nodes, pods }: Case): string {
  const all = Array.from({ length: runs }, () => measure({ nodes, pods }));
  const pick = (of: (costs: PodCosts) => number) => median(all.map(of));
  const lives = pick(({ livesPerSecond }) => livesPerSecond);
  const bare = pick(({ bareLivesPerSecond }) => bareLivesPerSecond);
  const cells = [
    String(nodes),
    String(pods),
    lives.toFixed(0),
    `${(bare / lives).toFixed(1)} times`,
    `${((1000 / lives) * 1000).toFixed(0)} µs`,
    `${pick(({ heapPerPodKiB }) => heapPerPodKiB).toFixed(1)} KiB`,
    `${pick(({ residentMiB }) => residentMiB).toFixed(0)} MiB`,
  ];
  return line(cells);
}

const WIDTHS = [6, 12, 15, 18, 10, 14, 12];
const line = (cells: readonly string[]) =>
  cells.map((cell, index) => cell.padStart(WIDTHS[index] ?? 0)).join('');

process.stdout.write(`median of ${runs} runs; a life is a pod added, running, removed and forgotten\n\n`);
const heading = ['nodes', 'pods each', 'lives a second', 'bare charts', 'a life', 'heap per pod', 'resident'];
process.stdout.write(`${line(heading)}\n`);
const cases = [...ON_ONE_NODE, ...ON_MANY].filter(
  ({ pods, nodes }) => pods <= most.pods && nodes <= most.nodes,
);
for (const one of cases) process.stdout.write(`${row(one)}\n`);
