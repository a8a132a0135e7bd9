/**
 * A pass over eviction plugins: 500 pods, 20 plugins in processes of their own, of which 10 answer slowly and 2 never. How long it takes, and the CPU
 * time of this process for it, in which the manager runs as in the agent: with pods that are as before, with some, and with all of them changed.
 * Beside it, the same plugins asked one after another, as Katalyst's manager does (with the same deadline, which that one does not have). At last the
 * longest time for which 500 plugins block the event loop, while they register and are asked. Not measured: the plugins' own CPU time, and the end of
 * pods. `node bench/eviction-plugins.ts [--passes N] [--pods N] [--quick]`.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { InspectionEvent } from 'xstate';
import { activePodsBytes, RemoteEvictionPlugin } from '../src/agent/plugins/remote-eviction-plugin.ts';
import { LoopMeter } from './support/loop-meter.ts';
import { median } from './support/measures.ts';
import { benchOptions } from './support/options.ts';
import { benchManager } from './support/plugin-pods.ts';
import { type BenchPlugin, startPlugins } from './support/plugin-processes.ts';
import { printTable } from './support/table.ts';

const PROCESSES = 4;
const TIMEOUT_MS = 1000;
const SLOW_MS = 500;
const PERIOD_MS = 100;
const WARM_UP_PASSES = 5;
const WANTED_CPU_MS = 30;
const CROWD = 500;
/** The longest turn of the event loop that is wanted, with that many plugins. */
const WANTED_TURN_MS = 50;
/** A pass ends when the deadline of all questions has passed; timers and the machine's other work come on top. */
const WANTED_MS = TIMEOUT_MS * 1.1;
const US_PER_MS = 1000;

const { passes, pods: podCount } = benchOptions(
  {
    passes: { usual: 10, quick: 3 },
    pods: { usual: 500, quick: 500 },
  },
  {},
);

const plugins: readonly BenchPlugin[] = [
  ...named('fast', 8, 0),
  ...named('slow', 10, SLOW_MS),
  ...Array.from({ length: 2 }, (_, index) => ({ name: `hanging-${index}` })),
];

function named(kind: string, count: number, answersAfterMs: number): readonly BenchPlugin[] {
  return Array.from({ length: count }, (_, index) => ({ name: `${kind}-${index}`, answersAfterMs }));
}

interface Pass {
  readonly ms: number;
  readonly cpuMs: number;
}

/** Notes when a pass begins, and measures it when it ends. */
class PassMeter {
  #next = Promise.withResolvers<Pass>();
  #began: { readonly ms: number; readonly cpu: NodeJS.CpuUsage } | undefined;

  readonly inspect = (event: InspectionEvent): void => {
    if (!('id' in event.actorRef) || event.actorRef.id !== 'evictionPlugins') return;
    if (event.type === '@xstate.event' && event.event.type === 'PASS_DUE')
      this.#began = { ms: performance.now(), cpu: process.cpuUsage() };
    // The snapshot is inspected when the actions of the transition are done.
    if (event.type !== '@xstate.snapshot' || this.#began === undefined) return;
    const { value } = event.snapshot as { readonly value?: unknown };
    if (value === 'Waiting') this.#end(this.#began);
  };

  next(): Promise<Pass> {
    return this.#next.promise;
  }

  #end({ ms, cpu }: { readonly ms: number; readonly cpu: NodeJS.CpuUsage }): void {
    const { user, system } = process.cpuUsage(cpu);
    this.#began = undefined;
    this.#next.resolve({ ms: performance.now() - ms, cpuMs: (user + system) / US_PER_MS });
    this.#next = Promise.withResolvers<Pass>();
  }
}

const folder = mkdtempSync(join(tmpdir(), 'statelet-bench-'));
const registryDir = join(folder, 'plugins');
mkdirSync(registryDir);
const endPlugins = await startPlugins(registryDir, plugins, PROCESSES);
const meter = new PassMeter();
const bench = benchManager(
  podCount,
  { registryDir, timeoutMs: TIMEOUT_MS, syncPeriodMs: PERIOD_MS },
  meter.inspect,
);

function medians(all: readonly Pass[]): Pass {
  const of = (part: keyof Pass) => median(all.map((pass) => pass[part]));
  return { ms: of('ms'), cpuMs: of('cpuMs') };
}

async function measured(changed: number): Promise<Pass> {
  const all: Pass[] = [];
  for (let pass = -WARM_UP_PASSES; pass < passes; pass += 1) {
    bench.change(changed);
    const one = await meter.next();
    if (pass >= 0) all.push(one);
  }
  return medians(all);
}

async function cpuOf(work: () => Promise<unknown>): Promise<Pass> {
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  await work();
  const { user, system } = process.cpuUsage(cpu);
  return { ms: performance.now() - began, cpuMs: (user + system) / US_PER_MS };
}

/** Both questions of one plugin after the other, and one plugin after the other. */
async function oneAfterAnother(): Promise<void> {
  const activePods = { pods: bench.shown() };
  for (const { name } of plugins) {
    const plugin = new RemoteEvictionPlugin({ name, endpoint: join(registryDir, `${name}.sock`) });
    for (const question of ['getEvictPods', 'thresholdMet'] as const)
      await plugin[question]({ activePods, signal: AbortSignal.timeout(TIMEOUT_MS) }).catch(() => undefined);
    plugin.close();
  }
}

/** The CPU time for writing all pods as bytes, which is done once for all plugins. */
async function encoding(): Promise<Pass> {
  const all: Pass[] = [];
  for (let run = 0; run < passes; run += 1) {
    bench.change(podCount);
    const pods = bench.shown();
    all.push(await cpuOf(() => Promise.resolve(activePodsBytes({ pods }))));
  }
  return medians(all);
}

/** CPU time of the longest turns of the event loop: while a crowd of plugins registers, and in passes over it. */
async function crowd(): Promise<{ readonly registeringMs: number; readonly askingMs: number }> {
  const registryDir = join(folder, 'crowd');
  mkdirSync(registryDir);
  const end = await startPlugins(registryDir, named('crowd', CROWD, 0), PROCESSES);
  const own = new PassMeter();
  const loop = new LoopMeter();
  const settings = { registryDir, timeoutMs: TIMEOUT_MS, syncPeriodMs: PERIOD_MS };
  const { manager, directory } = benchManager(podCount, settings, own.inspect);
  manager.start();
  try {
    while (directory.plugins().length < CROWD) await own.next();
    const registeringMs = loop.take();
    for (let pass = 0; pass < passes; pass += 1) await own.next();
    return { registeringMs, askingMs: loop.take() };
  } finally {
    loop.stop();
    await manager.stop();
    await end();
  }
}

bench.manager.start();
try {
  while (bench.directory.plugins().length < plugins.length) await meter.next();
  const size = activePodsBytes({ pods: bench.shown() }).length;
  console.log(
    `${podCount} pods (${(size / 1024).toFixed(0)} KiB), ${plugins.length} plugins in ${PROCESSES} processes: 8 answer at once, 10 after ${SLOW_MS} ms, 2 never; deadline ${TIMEOUT_MS} ms; median of ${passes} passes`,
  );
  console.log(
    `wanted: at most ${WANTED_MS} ms, and ${WANTED_CPU_MS} ms CPU where a tenth of the pods changed; turns of at most ${WANTED_TURN_MS} ms`,
  );
  const same = await measured(0);
  const some = await measured(Math.round(podCount / 10));
  const all = await measured(podCount);
  await bench.manager.stop();
  const written = await encoding();
  const inTurn = await cpuOf(oneAfterAnother);
  const { registeringMs, askingMs } = await crowd();
  const timed = { beside: 'one plugin after another', itsFigure: inTurn.ms };
  const cpu = { beside: 'all pods written once', itsFigure: written.cpuMs };
  printTable({
    'a pass, pods as before (ms)': { figure: same.ms, ...timed },
    'a pass, a tenth of the pods changed (ms)': { figure: some.ms, ...timed },
    'a pass, all pods changed (ms)': { figure: all.ms, ...timed },
    'its CPU, pods as before (ms)': { figure: same.cpuMs, ...cpu },
    'its CPU, a tenth of the pods changed (ms)': { figure: some.cpuMs, ...cpu },
    'its CPU, all pods changed (ms)': { figure: all.cpuMs, ...cpu },
    [`longest turn while ${CROWD} plugins register (ms)`]: { figure: registeringMs, ...cpu },
    [`longest turn while ${CROWD} plugins are asked (ms)`]: { figure: askingMs, ...cpu },
  });
  const isSlow = [same, some, all].some(({ ms }) => ms > WANTED_MS);
  const isBlocked = Math.max(registeringMs, askingMs) > WANTED_TURN_MS;
  if (isSlow || isBlocked || some.cpuMs > WANTED_CPU_MS) process.exitCode = 1;
} finally {
  await endPlugins();
  rmSync(folder, { recursive: true, force: true });
}
