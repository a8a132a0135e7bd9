/**
 * How long the daemon takes from its start until pods run, and how much memory it takes when idle. For comparison, in the same
 * run: an empty Node process. `node bench/start-up.ts [--pods N] [--runs N]`.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { monitorPid } from '../test/support/process-runtime.ts';
import { cpuSeconds, median, memoryOf, type ProcessMemory } from './support/measures.ts';

const CLI = fileURLToPath(new URL('../bin/statelet.js', import.meta.url));
const IDLE_MS = 15_000;

const { values } = parseArgs({
  options: { pods: { type: 'string', default: '1' }, runs: { type: 'string', default: '5' } },
});
const pods = Number(values.pods);
const runs = Number(values.runs);

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

function emptyNodeMs(): number {
  const begun = performance.now();
  spawnSync(process.execPath, ['-e', '0']);
  return performance.now() - begun;
}

const results: Run[] = [];
for (let index = 0; index < runs; index++) results.push(await run(index === runs - 1));
const nodeMs = median(Array.from({ length: 5 }, emptyNodeMs));
const of = (pick: (result: Run) => number) => median(results.map(pick));
const ratio = (ms: number) =>
  `${ms.toFixed(0)} ms, ${(ms / nodeMs).toFixed(1)} times an empty Node process (${nodeMs.toFixed(0)} ms)`;
const idle = results.at(-1)?.idle;
const shown = (memory?: ProcessMemory) =>
  `${memory?.anonymousMiB.toFixed(0)} MiB anonymous (${memory?.residentMiB.toFixed(0)} resident)`;
console.log(`${pods} pods on the embedded runtime, median of ${runs} runs`);
console.log(`first container runs after  ${ratio(of(({ firstMs }) => firstMs))}`);
console.log(`last container runs after   ${ratio(of(({ allMs }) => allMs))}`);
console.log(`CPU of the daemon till then ${of(({ cpuSecondsTillThen }) => cpuSecondsTillThen).toFixed(2)} s`);
console.log(
  `idle: daemon ${shown(idle?.daemon)}, monitor ${shown(idle?.monitor)}, daemon's CPU ${idle?.cpuPercent.toFixed(2)}% of a core`,
);
