/**
 * How long one pass of eviction takes over 100 to 5,000 pods, from the summary to the message for the victim: with a node that
 * has enough of every resource, and with one that is short of memory, of disk or of inodes. `node bench/eviction-pass.ts
 * [--runs N]`.
 */
import { parseArgs } from 'node:util';
import { chooseVictim, evaluateEviction } from '../src/agent/policies/eviction/pass.ts';
import type { Pod } from '../src/types/kubernetes.ts';
import type { PodStats, Summary } from '../src/types/stats.ts';
import { factsWith, nodeWith, settingsWith, statsOf, thresholds } from '../test/support/eviction.ts';
import { median } from './support/measures.ts';
import { fullNode } from './support/preemption-pods.ts';

const COUNTS = [100, 500, 5000];
/** Runs before the measurement, so that the code is compiled. */
const WARM_UP_RUNS = 20;
const WANTED_MS = 10;
const WANTED_COUNT = 500;

const { values } = parseArgs({ options: { runs: { type: 'string', default: '100' } } });
const runs = Number(values.runs);

const NONE = { ending: new Set<string>(), unendable: new Set<string>() };
const HARD = { 'memory.available': '100Mi', 'nodefs.available': '10%', 'nodefs.inodesFree': '5%' };
const settings = settingsWith({ thresholds: thresholds({ evictionHard: HARD }) });

/** Every pod has two containers, two volumes and a storage limit. This takes the longest way through a pass. */
function podsOf(count: number): readonly Pod[] {
  return fullNode(count).map((pod) => ({
    ...pod,
    spec: {
      ...pod.spec,
      containers: pod.spec.containers.map((container) => ({
        ...container,
        resources: {
          ...container.resources,
          limits: { ...container.resources?.limits, 'ephemeral-storage': '100Gi' },
        },
      })),
      volumes: [
        { name: 'scratch', emptyDir: { sizeLimit: '10Gi' } },
        { name: 'host', hostPath: { path: '/x' } },
      ],
    },
  }));
}

function statsFor({ metadata: { name, uid }, spec }: Pod, index: number): PodStats {
  const used = { usedBytes: (index * 7_919_003) % 2 ** 30, inodesUsed: (index * 31) % 997 };
  const memory = { workingSetBytes: (index * 104_729) % 2 ** 31 };
  return {
    ...statsOf(name, {
      memory,
      containers: spec.containers.map((container) => ({
        name: container.name,
        memory,
        rootfs: used,
        logs: used,
      })),
      volume: (spec.volumes ?? []).map((volume) => ({ name: volume.name, ...used })),
      'ephemeral-storage': used,
    }),
    podRef: { name, namespace: 'default', uid },
  };
}

function pass(pods: readonly Pod[], summary: Summary): string {
  const facts = factsWith({ settings, pods, summary });
  const { shortage } = evaluateEviction(facts);
  if (shortage === undefined) return 'nobody';
  return chooseVictim({ ...NONE, settings, shortage, summary, pods }).eviction?.pod.name ?? 'nobody';
}

function timeMs(work: () => unknown): number {
  const began = performance.now();
  work();
  return performance.now() - began;
}

const fewInodes = { inodes: 1_000_000, inodesFree: 1000 };
const SHORTAGES: [string, Summary['node']][] = [
  ['nothing', nodeWith({ memory: 500, disk: 50 })],
  ['memory', nodeWith({ memory: 50, disk: 50 })],
  ['disk', nodeWith({ memory: 500, disk: 5 })],
  ['inodes', { nodeName: 'node1', fs: fewInodes }],
];

const line = (cells: readonly string[]) => `${cells.map((cell) => cell.padStart(12)).join('')}\n`;

process.stdout.write(`one pass of eviction; median of ${runs} runs\n`);
process.stdout.write(line(['pods', 'short of', 'a pass', 'slowest', 'goes']));
for (const count of COUNTS) {
  const pods = podsOf(count);
  const stats = pods.map(statsFor);
  for (const [name, node] of SHORTAGES) {
    const summary = { node, pods: stats };
    const work = () => pass(pods, summary);
    for (let run = 0; run < WARM_UP_RUNS; run += 1) work();
    const timesMs = Array.from({ length: runs }, () => timeMs(work));
    const [typicalMs, slowestMs] = [median(timesMs), Math.max(...timesMs)];
    process.stdout.write(
      line([String(count), name, `${typicalMs.toFixed(2)} ms`, `${slowestMs.toFixed(2)} ms`, work()]),
    );
    if (count === WANTED_COUNT && typicalMs > WANTED_MS) process.exitCode = 1;
  }
}
