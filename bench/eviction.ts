/**
 * The time from the moment at which a pod takes too much memory of the node until the pod is told to end, on real cgroups
 * and on containerd. For comparison: the kubelet's default period of monitoring. `npm run bench:eviction -- [--rounds 9] [--quick]`.
 *
 * Both moments are measured outside the agent. A separate thread reads the kernel's available memory every millisecond. The
 * pod writes a file when it gets SIGTERM; the time of the file is exact to one tick of the kernel, at most 4 ms.
 */
import { once } from 'node:events';
import { mkdtempSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import {
  type EvictingAgent,
  evictablePod,
  startEvictingAgent,
} from '../test/support/containerd/evicting-agent.ts';
import { type CriDaemonBed, startCriBed } from '../test/support/cri-daemon.ts';
import { thresholds } from '../test/support/eviction.ts';
import { waitFor } from '../test/support/wait-for.ts';
import { median, nowMs } from './support/measures.ts';
import { benchOptions } from './support/options.ts';
import { type Compared, printTable, rounded } from './support/table.ts';

const MIB = 2 ** 20;
/** More memory than all other processes of the machine take or free meanwhile. */
const MARGIN_MIB = 1024;
const GREED_MIB = 1536;
const PATIENCE_MS = 60_000;
const KUBELET_PERIOD_MS = 10_000;
const WANTED_MS = 500;

const { rounds } = benchOptions({ rounds: { usual: 9, quick: 3 } }, {});

interface Round {
  /** Milliseconds since the crossing of the threshold. */
  readonly stopCallMs: number;
  readonly signalMs: number;
}

interface Watch {
  /** Unix milliseconds. */
  readonly crossedMs: Promise<number>;
  stop(): Promise<unknown>;
}

/** Resolves when the thread has begun to compare the available memory with the threshold. */
async function watchCrossing(thresholdBytes: number): Promise<Watch> {
  const file = new URL('./support/memory-crossing-worker.ts', import.meta.url);
  const worker = new Worker(file, { workerData: { thresholdBytes } });
  await once(worker, 'message');
  const crossedMs = once(worker, 'message').then(([atMs]) => atMs as number);
  crossedMs.catch(() => undefined);
  return { crossedMs, stop: () => worker.terminate() };
}

/** A pod that takes memory at once, and writes a file when it gets SIGTERM. */
function greedyPod(bed: CriDaemonBed, index: number, marks: string) {
  const script = `
    trap ': > /marks/signal; exit 0' TERM
    dd if=/dev/zero bs=${GREED_MIB}M count=1 2> /dev/null | sleep 1000 &
    wait`;
  const volumeMounts = [{ name: 'marks', mountPath: '/marks' }];
  const volumes = [{ name: 'marks', hostPath: { path: marks } }];
  return evictablePod(`greedy-${index}`, bed.shell(script, { volumeMounts }), { volumes });
}

/** Records the times of StopContainer calls from now on, in Unix milliseconds. */
function recordStopCalls({ runtime }: EvictingAgent): number[] {
  const times: number[] = [];
  const stop = runtime.stopContainer.bind(runtime);
  runtime.stopContainer = (...args) => {
    times.push(nowMs());
    return stop(...args);
  };
  return times;
}

/** Each round has its own agent, with a threshold a little below the memory that is available then. */
async function round(bed: CriDaemonBed, index: number): Promise<Round> {
  let thresholdMi = 0;
  const agent = await startEvictingAgent(bed.containerd, {
    settings: (stats) => {
      const bytes = stats.memoryAvailable('memory.available')?.availableBytes ?? Number.NaN;
      thresholdMi = Math.floor(bytes / MIB) - MARGIN_MIB;
      return { thresholds: thresholds({ evictionHard: { 'memory.available': `${thresholdMi}Mi` } }) };
    },
  });
  const watch = await watchCrossing(thresholdMi * MIB);
  try {
    const stopCalls = recordStopCalls(agent);
    const marks = mkdtempSync(join(bed.dir, 'marks-'));
    const pod = greedyPod(bed, index, marks);
    agent.add(pod);
    const isOver = () => agent.state(pod.metadata.uid) === 'Terminated.Finished';
    await waitFor(isOver, { what: `${pod.metadata.name} to be evicted`, timeoutMs: PATIENCE_MS });
    const crossedMs = await watch.crossedMs;
    const signalMs = statSync(join(marks, 'signal')).mtimeMs - crossedMs;
    process.stderr.write(`round ${index}: ${rounded(signalMs)} ms\n`);
    return { stopCallMs: (stopCalls.at(-1) ?? Number.NaN) - crossedMs, signalMs };
  } finally {
    await watch.stop();
    await agent.cleanUp();
  }
}

function report(found: readonly Round[]): void {
  const row = (pick: (round: Round) => number): Compared => ({
    figure: median(found.map(pick)),
    beside: "the kubelet's period",
    itsFigure: KUBELET_PERIOD_MS,
  });
  const signal = row(({ signalMs }) => signalMs);
  process.stdout.write(`from crossing the threshold of memory, median of ${found.length} rounds\n`);
  printTable({
    'until StopContainer is called (ms)': row(({ stopCallMs }) => stopCallMs),
    'until SIGTERM is in the pod (ms)': signal,
  });
  if (signal.figure > WANTED_MS) process.exitCode = 1;
}

const bed = await startCriBed();
try {
  const found: Round[] = [];
  for (let index = 1; index <= rounds; index += 1) found.push(await round(bed, index));
  report(found);
} finally {
  await bed.tearDown();
}
