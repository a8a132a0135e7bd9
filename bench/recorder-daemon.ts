/**
 * What the flight recorder and an open page cost a real daemon: their share of its CPU time while pods live and die on the embedded runtime, which
 * starts a process for each and ends it. The daemon runs from its sources under V8's profiler, and each sample of its main thread counts for the
 * innermost part that is on the stack. So the speed of the machine does not matter, which varies by more than what is measured. The other threads of
 * the daemon, without the profiler's, count as its own work. What is loaded for the page, and the first rounds, do not count. `npm run
 * bench:recorder-daemon -- [--pods 40] [--rounds 25] [--quick]`.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Profiler } from 'node:inspector';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { fineCpuMs } from './support/measures.ts';
import { benchOptions } from './support/options.ts';
import { readPage } from './support/page-reader.ts';
import { pause } from './support/steady-lives.ts';
import { type Compared, printTable } from './support/table.ts';

const { pods, rounds } = benchOptions(
  { pods: { usual: 40, quick: 40 }, rounds: { usual: 25, quick: 5 } },
  {},
);
const WARM_UP_ROUNDS = 3;
const SAMPLE_MICROSECONDS = 250;
const POLL_MS = 50;
/** Time until the work after an end is done. */
const SETTLE_MS = 500;
/** As Node names its threads. */
const MAIN_THREAD = 'MainThread';
const PROFILER_THREAD = 'v8:Prof';
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
/** By the file and the name of a function. What XState copies for an inspection is a part of the recorder. */
const PARTS = {
  recorder:
    /\/src\/(?:server|policies)\/record\/|\/src\/actors\/transitions\.ts |\/xstate\/.* sendInspectionEvent$/u,
  page: /\/src\/server\/ui\/|\/src\/actors\/page\/|\/src\/daemon\/(?:daemon|serve)-page\.ts /u,
};

const folder = mkdtempSync(join(tmpdir(), 'statelet-bench-'));
const [root, manifests, prepared, marks, profiles] = [
  'root',
  'manifests',
  'prepared',
  'marks',
  'profiles',
].map((name) => join(folder, name)) as [string, string, string, string, string];
for (const path of [manifests, prepared, marks]) mkdirSync(path);
for (let index = 0; index < pods; index++) {
  const command = ['sh', '-c', `touch ${marks}/${index}; exec sleep 100000`];
  const spec = { terminationGracePeriodSeconds: 5, containers: [{ name: 'main', command }] };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: `pod-${index}` }, spec };
  writeFileSync(join(prepared, `pod-${index}.json`), JSON.stringify(pod));
}

const profiler = ['--cpu-prof', `--cpu-prof-dir=${profiles}`, `--cpu-prof-interval=${SAMPLE_MICROSECONDS}`];
// As in the first line of `bin/statelet.js`.
const node = [
  '--v8-pool-size=1',
  '--min-semi-space-size=4',
  '--disable-warning=ExperimentalWarning',
  ...profiler,
];
const flags = ['run', '--root-dir', root, '--healthz-port', 'auto', '--exit-with-pods', '--ui=127.0.0.1:0'];
const began = performance.now();
const daemon = spawn(process.execPath, [...node, MAIN, ...flags, '--pod-manifest-path', manifests], {
  stdio: ['ignore', 'pipe', 'inherit'],
});
const ended = once(daemon, 'exit');
const url = await new Promise<string>((resolve) => {
  createInterface({ input: daemon.stdout }).on('line', (line) => {
    const { url: said } = JSON.parse(line) as { url?: string };
    if (said !== undefined) resolve(said);
  });
});
await readPage(`${url}ui/overview`);

for (let round = 0; round < WARM_UP_ROUNDS; round++) await live();
const warmUpMs = performance.now() - began;
const before = cpuOf(daemon.pid ?? 0);
for (let round = 0; round < rounds; round++) await live();
const after = cpuOf(daemon.pid ?? 0);
const cpu = { main: after.main - before.main, all: after.all - before.all };
daemon.kill('SIGTERM');
await ended;
report();
rmSync(folder, { recursive: true });
process.exit(0);

/** In ms, without the profiler's own thread. */
function cpuOf(pid: number): { readonly main: number; readonly all: number } {
  return {
    main: fineCpuMs(pid, (thread) => thread === MAIN_THREAD),
    all: fineCpuMs(pid, (thread) => !thread.startsWith(PROFILER_THREAD)),
  };
}

async function live(): Promise<void> {
  move(prepared, manifests);
  while (readdirSync(marks).length < pods) await pause(POLL_MS);
  await pause(SETTLE_MS);
  move(manifests, prepared);
  while (readdirSync(join(root, 'pods')).length > 0) await pause(POLL_MS);
  await pause(SETTLE_MS);
  for (const mark of readdirSync(marks)) rmSync(join(marks, mark));
}

function move(from: string, to: string): void {
  for (const name of readdirSync(from)) renameSync(join(from, name), join(to, name));
}

function report(): void {
  const [file = ''] = readdirSync(profiles);
  const profile = JSON.parse(readFileSync(join(profiles, file), 'utf8')) as Profiler.Profile;
  const { total, ...parts } = samplesOf(profile, warmUpMs);
  const both = parts.recorder + parts.page;
  const cpuMs = cpu.all / (rounds * pods);
  const row = (samples: number): Compared => ({
    figure: ((samples / total) * cpu.main) / (rounds * pods),
    beside: 'all of the daemon',
    itsFigure: cpuMs,
  });
  process.stdout.write(
    [
      `${rounds} rounds of ${pods} pods; CPU time of a life under the profiler; ${total} samples,`,
      `so that the ratio of both is right to ${(Math.sqrt(both) / total).toFixed(4)}`,
      '',
    ].join('\n'),
  );
  printTable({
    'recorder (ms)': row(parts.recorder),
    'page (ms)': row(parts.page),
    'both (ms)': row(both),
  });
}

/** Of samples in which the thread worked. */
function samplesOf(
  profile: Profiler.Profile,
  skippedMs: number,
): Record<keyof typeof PARTS | 'total', number> {
  const { nodes, samples = [], timeDeltas = [], startTime } = profile;
  const partOf = new Map<number, keyof typeof PARTS | undefined>();
  const idle = new Set<number>();
  // A node comes before its children.
  for (const { id, callFrame, children = [] } of nodes) {
    if (callFrame.functionName === '(idle)') idle.add(id);
    const own = (Object.keys(PARTS) as (keyof typeof PARTS)[]).find((part) =>
      PARTS[part].test(`${callFrame.url} ${callFrame.functionName}`),
    );
    if (own !== undefined) partOf.set(id, own);
    for (const child of children) partOf.set(child, partOf.get(id));
  }
  const counts = { recorder: 0, page: 0, total: 0 };
  let at = startTime;
  for (const [index, id] of samples.entries()) {
    at += timeDeltas[index] ?? 0;
    if (at - startTime < skippedMs * 1000 || idle.has(id)) continue;
    counts.total += 1;
    const part = partOf.get(id);
    if (part !== undefined) counts[part] += 1;
  }
  return counts;
}
