/**
 * How soon pods of an API server are Ready and gone, as the API server shows it; how soon a new value of a ConfigMap is in their files;
 * what CPU time and memory the agent takes; and how much it asks of the API server when nothing happens. The kubelet (`KUBELET`, or
 * that of `KUBEBUILDER_ASSETS`) and Statelet by turns, on one control plane and one containerd; without a kubelet Statelet alone.
 * `KUBEBUILDER_ASSETS=DIR npm run bench:cluster -- [--pods 30] [--runs 2] [--idle-seconds 60] [--quick]`. `--quick`: ten pods, once.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { NODE_NAME } from '../scripts/compare/agent.ts';
import { makeCgroup } from '../test/support/containerd/cgroups.ts';
import { startContainerd } from '../test/support/containerd/containerd.ts';
import { mountsBelow } from '../test/support/containerd/wipe.ts';
import { startControlPlane } from '../test/support/control-plane/control-plane.ts';
import { findKubelet, noControlPlaneBecause, NO_KUBELET } from '../test/support/kubernetes-programs.ts';
import { auditFlags, ClusterBench, type ClusterFigures } from './support/cluster-bench.ts';
import { median } from './support/measures.ts';

const { values } = parseArgs({
  options: {
    pods: { type: 'string' },
    runs: { type: 'string' },
    'idle-seconds': { type: 'string' },
    quick: { type: 'boolean', default: false },
  },
});
const [defaultPods, defaultRuns, defaultIdle] = values.quick ? [10, 1, 15] : [30, 2, 60];
const pods = Number(values.pods ?? defaultPods);
const runs = Number(values.runs ?? defaultRuns);
const idleSeconds = Number(values['idle-seconds'] ?? defaultIdle);
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
console.table(rows());
process.exit(0);

function rows() {
  const row = (title: string, of: (figures: ClusterFigures) => number, digits = 0) => {
    const [ours, theirs] = (['statelet', 'kubelet'] as const).map((name) => median(figures[name].map(of)));
    const shown = (value = NaN, places = digits) => Number(value.toFixed(places));
    const ratio = shown((ours ?? NaN) / (theirs ?? NaN), 2);
    const beside = kubelet !== undefined && { kubelet: shown(theirs), ratio };
    return { [title]: { statelet: shown(ours), ...beside } };
  };
  return Object.assign(
    {},
    row('created to Ready, p50 (ms)', ({ readyMs }) => percentile(readyMs, 50)),
    row('created to Ready, p99 (ms)', ({ readyMs }) => percentile(readyMs, 99)),
    row('deleted to gone, p50 (ms)', ({ goneMs }) => percentile(goneMs, 50)),
    row('deleted to gone, p99 (ms)', ({ goneMs }) => percentile(goneMs, 99)),
    row('ConfigMap changed to in the file, p50 (ms)', ({ updateMs }) => percentile(updateMs, 50)),
    row('ConfigMap changed to in the file, p99 (ms)', ({ updateMs }) => percentile(updateMs, 99)),
    row('CPU for the start (s)', ({ startCpuSeconds }) => startCpuSeconds, 2),
    row('requests for the start', ({ startRequests }) => startRequests),
    row('anonymous memory (MiB)', ({ memory }) => memory.anonymousMiB, 1),
    row('resident memory (MiB)', ({ memory }) => memory.residentMiB, 1),
    row('idle: CPU (% of a core)', ({ idle }) => idle.cpuPercent, 2),
    row('idle: requests a minute', ({ idle }) => idle.requests),
    row('idle: bytes a minute', ({ idle }) => idle.bytes),
  ) as Record<string, unknown>;
}

function percentile(numbers: readonly number[], percent: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((percent / 100) * sorted.length) - 1)] ?? NaN;
}
