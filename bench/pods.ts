/**
 * How long pods take to start and to end under the daemon; how much CPU time and memory the daemon takes; and how soon a dead
 * container is restarted. For comparison, in the same run and on the same containerd: the bare CRI calls that the pods need,
 * and the kubelet, where `KUBELET` is the path of one or `KUBEBUILDER_ASSETS` a folder with one.
 * `npm run bench:pods -- --pods 30 [--runs 3] [--concurrency N] [--idle-seconds 30] [--bare] [--without-kubelet] [-o json]`. With
 * `--quick`: ten pods, once, without a search for the best number of bare calls at a time.
 */
import { loadavg } from 'node:os';
import { type ContainerdBed, startContainerd } from '../test/support/containerd/containerd.ts';
import { findKubelet, NO_KUBELET } from '../test/support/kubernetes-programs.ts';
import { type Concurrency, PodsBench } from './support/pods-bench.ts';
import { benchOptions } from './support/options.ts';
import {
  type AgentStart,
  type DaemonTimes,
  headOf,
  type Report,
  rowsOf,
  type Times,
} from './support/report.ts';
import { printTable, rounded } from './support/table.ts';

const CONCURRENCIES = [2, 4, 8, 16, 32];
/** The better of two attempts counts: a bad choice by chance would favour the daemon. */
const TRIES = 2;

const {
  pods,
  runs,
  restarts: restartCount,
  'idle-seconds': idleSeconds,
  quick,
  concurrency: givenConcurrency,
  ...flags
} = benchOptions(
  {
    pods: { usual: 30, quick: 10 },
    runs: { usual: 2, quick: 1 },
    restarts: { usual: 9, quick: 3 },
    'idle-seconds': { usual: 30, quick: 15 },
  },
  {
    /** The number of bare calls at a time. Without it, the bench finds the best number. */
    concurrency: { type: 'string' },
    /** Measure only the bare calls, without the daemon. */
    bare: { type: 'boolean', default: false },
    'without-kubelet': { type: 'boolean', default: false },
    output: { type: 'string', short: 'o', default: 'table' },
  },
);
const concurrency = givenConcurrency ?? (quick ? '16' : undefined);

const progress = (text: string, { startMs, endMs }: Times) =>
  process.stderr.write(`${text}: start ${rounded(startMs)} ms, end ${rounded(endMs)} ms\n`);

async function search(bench: PodsBench): Promise<Report['search']> {
  const given = concurrency === undefined ? undefined : [Number(concurrency)];
  const found: Report['search'][number][] = [];
  const candidates = given ?? CONCURRENCIES.filter((number) => number < 2 * pods);
  for (const atOnce of Array.from({ length: TRIES }, () => candidates).flat()) {
    const times = await bench.timeBare({ startsAtOnce: atOnce, endsAtOnce: atOnce });
    found.push({ atOnce, ...times });
    progress(`bare, ${atOnce} at a time`, times);
  }
  return found;
}

function fastest(found: Report['search'], pick: (times: Times) => number): number {
  return found.toSorted((a, b) => pick(a) - pick(b))[0]?.atOnce ?? 1;
}

async function measure(bed: ContainerdBed, bench: PodsBench): Promise<Report> {
  const loadAverage = loadavg()[0] ?? 0;
  // The first start of each kind is slow, and is not measured.
  await bench.timeBare({ startsAtOnce: 4, endsAtOnce: 4 });
  const found = await search(bench);
  const concurrency: Concurrency = {
    startsAtOnce: fastest(found, ({ startMs }) => startMs),
    endsAtOnce: fastest(found, ({ endMs }) => endMs),
  };
  const [bare, daemon, kubelet]: [Times[], DaemonTimes[], AgentStart[]] = [[], [], []];
  const withKubelet = kubeletBinary !== undefined;
  for (let run = 1; run <= runs; run++) {
    bare.push(await bench.timeBare(concurrency));
    progress(`run ${run}, bare`, bare.at(-1)!);
    if (flags.bare) continue;
    daemon.push(await bench.timeDaemon());
    progress(`run ${run}, daemon`, daemon.at(-1)!);
    if (!withKubelet) continue;
    kubelet.push(await bench.timeKubelet());
    process.stderr.write(`run ${run}, kubelet: start ${rounded(kubelet.at(-1)!.startMs)} ms\n`);
  }
  const restarts = Math.min(restartCount, pods);
  const bareRestartMs = await bench.bareRestarts(concurrency, restarts);
  const restartMs = flags.bare ? [] : await bench.daemonRestarts(restarts);
  const idle = flags.bare ? undefined : await bench.idle('daemon', idleSeconds);
  const kubeletIdle = withKubelet ? await bench.idle('kubelet', idleSeconds) : undefined;
  const containerd = /Server:\s+Version:\s+(\S+)/.exec(await bed.ctr('version'))?.[1] ?? '?';
  const facts = { pods, runs, containerd, loadAverage, search: found, ...concurrency };
  const agents = { daemon, restartMs, idleSeconds, ...(idle && { idle }) };
  return { ...facts, bare, bareRestartMs, ...agents, kubelet, ...(kubeletIdle && { kubeletIdle }) };
}

// This import fails without a build of the daemon. It is here so that it fails at once, not after minutes.
if (!flags.bare) await import('./support/daemon-pods.ts');
const comparesWithKubelet = !flags.bare && !flags['without-kubelet'];
const kubeletBinary = comparesWithKubelet ? findKubelet() : undefined;
if (comparesWithKubelet && kubeletBinary === undefined)
  process.stderr.write(`Statelet is compared with the bare CRI calls only: ${NO_KUBELET}.\n`);
const bed = await startContainerd();
try {
  const bench = await PodsBench.on(bed, pods, kubeletBinary);
  let report;
  try {
    report = await measure(bed, bench);
  } finally {
    await bench.close();
  }
  if (flags.output === 'json') console.log(JSON.stringify(report, null, 2));
  else {
    console.log(headOf(report));
    printTable(rowsOf(report));
  }
} finally {
  await bed.stop({ leftovers: 'remove' });
}
