/**
 * How long the daemon takes from its start until pods run, and how much memory it takes when idle. For comparison, in the same
 * run: an empty Node process. `node bench/start-up.ts [--pods N] [--runs N] [--quick]`.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { monitorPid } from '../test/support/process-runtime.ts';
import { cpuSeconds, median, memoryOf, type ProcessMemory } from './support/measures.ts';
import { benchOptions } from './support/options.ts';
import { type Compared, printTable } from './support/table.ts';

const CLI = fileURLToPath(new URL('../bin/statelet.js', import.meta.url));
const IDLE_MS = 15_000;
const EMPTY_RUNS = 5;

const { pods, runs } = benchOptions({ pods: { usual: 1, quick: 1 }, runs: { usual: 5, quick: 2 } }, {});

interface Run {
  readonly firstMs: number;
  readonly allMs: number;
  readonly cpuSecondsTillThen: number;
  readonly idle?: {
    readonly daemon: ProcessMemory;
    readonly monitor: ProcessMemory;
    readonly cpuPercent: number;
  };
}

/** Each container writes its start time, in Unix nanoseconds, into its own file. */
function layOut(folder: string): { manifests: string; marks: string } {
  const [manifests, marks] = [join(folder, 'manifests'), join(folder, 'marks')];
  mkdirSync(manifests);
  mkdirSync(marks);
  for (let index = 0; index < pods; index++) {
    const script = `date +%s%N > ${marks}/.${index}; mv ${marks}/.${index} ${marks}/${index}; exec sleep 100000`;
    const containers = [{ name: 'main', command: ['sh', '-c', script] }];
    const spec = { terminationGracePeriodSeconds: 1, containers };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: `pod-${index}` }, spec };
    writeFileSync(join(manifests, `pod-${index}.json`), JSON.stringify(pod));
  }
  return { manifests, marks };
}

async function run(measureIdle: boolean): Promise<Run> {
  const folder = mkdtempSync(join(tmpdir(), 'statelet-bench-'));
  const { manifests, marks } = layOut(folder);
  const root = join(folder, 'root');
  const flags = [
    '--pod-manifest-path',
    manifests,
    '--root-dir',
    root,
    '--healthz-port',
    'auto',
    '--exit-with-pods',
  ];
  const begun = Date.now();
  const daemon = spawn(process.execPath, [CLI, 'run', ...flags], { stdio: 'ignore' });
  while (seen(marks).length < pods) {
    if (daemon.exitCode !== null)
      throw new Error(`the daemon ended with ${daemon.exitCode}; run it by hand to see why`);
    await delay(2);
  }
  const times = seen(marks).map((name) => Number(readFileSync(join(marks, name), 'utf8')) / 1e6 - begun);
  const cpuSecondsTillThen = cpuSeconds(pidOf(daemon));
  const idle = measureIdle ? await idleOf(daemon, root) : undefined;
  daemon.kill('SIGTERM');
  await once(daemon, 'exit');
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  return {
    firstMs: Math.min(...times),
    allMs: Math.max(...times),
    cpuSecondsTillThen,
    ...(idle && { idle }),
  };
}

const seen = (marks: string) => readdirSync(marks).filter((name) => !name.startsWith('.'));

async function idleOf(daemon: ChildProcess, root: string) {
  await delay(3_000);
  const before = cpuSeconds(pidOf(daemon));
  await delay(IDLE_MS);
  return {
    daemon: memoryOf(pidOf(daemon)),
    monitor: memoryOf(await monitorPid(root)),
    cpuPercent: ((cpuSeconds(pidOf(daemon)) - before) / IDLE_MS) * 1e5,
  };
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('the daemon was not started');
  return pid;
}

interface EmptyNode extends ProcessMemory {
  /** Of a process that ends at once. */
  readonly ms: number;
  readonly cpuSeconds: number;
}

async function emptyNode(): Promise<EmptyNode> {
  const begun = performance.now();
  spawnSync(process.execPath, ['-e', '0']);
  const ms = performance.now() - begun;
  const waiting = spawn(process.execPath, ['-e', 'console.log(0); setInterval(() => 0, 1e9)'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(waiting.stdout, 'data');
  const pid = pidOf(waiting);
  const empty = { ms, cpuSeconds: cpuSeconds(pid), ...memoryOf(pid) };
  waiting.kill();
  return empty;
}

const results: Run[] = [];
for (let index = 0; index < runs; index++) results.push(await run(index === runs - 1));
const empty: EmptyNode[] = [];
for (let index = 0; index < EMPTY_RUNS; index++) empty.push(await emptyNode());
const of = (pick: (result: Run) => number) => median(results.map(pick));
const row = (figure: number, ofEmpty: keyof EmptyNode): Compared => ({
  figure,
  beside: 'an empty Node process',
  itsFigure: median(empty.map((one) => one[ofEmpty])),
});
const { daemon, monitor, cpuPercent = NaN } = results.at(-1)?.idle ?? {};
console.log(`${pods} pods on the embedded runtime, median of ${runs} runs`);
printTable({
  'first container runs after (ms)': row(
    of(({ firstMs }) => firstMs),
    'ms',
  ),
  'last container runs after (ms)': row(
    of(({ allMs }) => allMs),
    'ms',
  ),
  'CPU of the daemon till then (s)': row(
    of(({ cpuSecondsTillThen }) => cpuSecondsTillThen),
    'cpuSeconds',
  ),
  'idle: anonymous memory of the daemon (MiB)': row(daemon?.anonymousMiB ?? NaN, 'anonymousMiB'),
  'idle: resident memory of the daemon (MiB)': row(daemon?.residentMiB ?? NaN, 'residentMiB'),
  'idle: anonymous memory of the monitor (MiB)': row(monitor?.anonymousMiB ?? NaN, 'anonymousMiB'),
  'idle: resident memory of the monitor (MiB)': row(monitor?.residentMiB ?? NaN, 'residentMiB'),
  'idle: CPU of the daemon (% of a core)': { figure: cpuPercent },
});
