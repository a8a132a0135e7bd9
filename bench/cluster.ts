/**
 * How soon pods of an API server are Ready and gone, as the API server shows it; how soon a new value of a ConfigMap is in their files;
 * what CPU time and memory the agent takes; and how much it asks of the API server when nothing happens. The kubelet (`KUBELET`, or
 * that of `KUBEBUILDER_ASSETS`) and Statelet by turns, on one control plane and one containerd; without a kubelet Statelet alone.
 * `KUBEBUILDER_ASSETS=DIR npm run bench:cluster -- [--pods 30] [--runs 1] [--idle-seconds 30] [--quick]`. `--quick`: ten pods, once.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE_NAME } from '../scripts/compare/agent.ts';
import { makeCgroup } from '../test/support/containerd/cgroups.ts';
import { startContainerd } from '../test/support/containerd/containerd.ts';
import { mountsBelow } from '../test/support/containerd/wipe.ts';
import { startControlPlane } from '../test/support/control-plane/control-plane.ts';
import { findKubelet, noControlPlaneBecause, NO_KUBELET } from '../test/support/kubernetes-programs.ts';
import { auditFlags, ClusterBench, type ClusterFigures } from './support/cluster-bench.ts';
import { median } from './support/measures.ts';
import { benchOptions } from './support/options.ts';
import { type Compared, printTable } from './support/table.ts';

const {
  pods,
  runs,
  'idle-seconds': idleSeconds,
} = benchOptions(
  {
    pods: { usual: 30, quick: 10 },
    runs: { usual: 1, quick: 1 },
    'idle-seconds': { usual: 30, quick: 15 },
  },
  {},
);
const missing = noControlPlaneBecause();
if (missing !== undefined) {
  console.error(`bench:cluster needs a control plane, and ${missing}`);
  process.exit(2);
}
const kubelet = findKubelet();
if (kubelet === undefined) process.stderr.write(`Statelet is measured alone: ${NO_KUBELET}.\n`);
const agents = kubelet === undefined ? (['statelet'] as const) : (['kubelet', 'statelet'] as const);

const dir = mkdtempSync(join(tmpdir(), 'statelet-bench-cluster-'));
const [controlPlane, containerd] = await Promise.all([
  startControlPlane({ programs: 'real', nodeName: NODE_NAME, apiServerFlags: auditFlags(dir) }),
  startContainerd(),
]);
makeCgroup(containerd.cgroupRoot);
const bench = new ClusterBench({ controlPlane, containerd, dir });
const figures: Record<'statelet' | 'kubelet', ClusterFigures[]> = { statelet: [], kubelet: [] };
try {
  for (let run = 1; run <= runs; run += 1) {
    for (const name of agents) {
      const binary = name === 'kubelet' ? kubelet : undefined;
      const measured = await bench.measure(binary, `${name}-${String(run)}`, pods, idleSeconds);
      figures[name].push(measured);
      process.stderr.write(
        `${name} ${String(run)}: p50 ${String(Math.round(percentile(measured.readyMs, 50)))} ms, load ${String(loadavg()[0])}\n`,
      );
    }
  }
} finally {
  bench.close();
  await containerd.stop({ leftovers: 'remove' });
  await controlPlane.stop();
  for (const mount of mountsBelow(dir)) execFileSync('umount', [mount]);
  rmSync(dir, { recursive: true, force: true });
}
const row = (of: (figures: ClusterFigures) => number): Compared => {
  const theirs = figures.kubelet.length > 0 && {
    beside: 'kubelet',
    itsFigure: median(figures.kubelet.map(of)),
  };
  return { figure: median(figures.statelet.map(of)), ...theirs };
};
printTable({
  'created to Ready, p50 (ms)': row(({ readyMs }) => percentile(readyMs, 50)),
  'created to Ready, p99 (ms)': row(({ readyMs }) => percentile(readyMs, 99)),
  'deleted to gone, p50 (ms)': row(({ goneMs }) => percentile(goneMs, 50)),
  'deleted to gone, p99 (ms)': row(({ goneMs }) => percentile(goneMs, 99)),
  'ConfigMap changed to in the file, p50 (ms)': row(({ updateMs }) => percentile(updateMs, 50)),
  'ConfigMap changed to in the file, p99 (ms)': row(({ updateMs }) => percentile(updateMs, 99)),
  'CPU for the start (s)': row(({ startCpuSeconds }) => startCpuSeconds),
  'requests for the start': row(({ startRequests }) => startRequests),
  'anonymous memory (MiB)': row(({ memory }) => memory.anonymousMiB),
  'resident memory (MiB)': row(({ memory }) => memory.residentMiB),
  'idle: CPU (% of a core)': row(({ idle }) => idle.cpuPercent),
  'idle: requests a minute': row(({ idle }) => idle.requests),
  'idle: bytes a minute': row(({ idle }) => idle.bytes),
});
process.exit(0);

function percentile(numbers: readonly number[], percent: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((percent / 100) * sorted.length) - 1)] ?? NaN;
}
