/**
 * How long one pass of eviction takes over 100 to 5,000 pods, from the summary to the message for the victim: with a node that
 * has enough of every resource, and with one that is short of memory, of disk or of inodes. For comparison, in the same process:
 * reading the same summary from its JSON. `node bench/eviction-pass.ts [--runs N] [--quick]`.
 */
import { chooseVictim, evaluateEviction } from '../src/agent/policies/eviction/pass.ts';
import type { Pod } from '../src/types/kubernetes.ts';
import type { PodStats, Summary } from '../src/types/stats.ts';
import { factsWith, nodeWith, settingsWith, statsOf, thresholds } from '../test/support/eviction.ts';
import { medianMs } from './support/measures.ts';
import { benchOptions } from './support/options.ts';
import { fullNode } from './support/preemption-pods.ts';
import { type Compared, printTable } from './support/table.ts';

const COUNTS = [100, 500, 5000];
/** Runs before the measurement, so that the code is compiled. */
const WARM_UP_RUNS = 20;
const WANTED_MS = 10;
const WANTED_COUNT = 500;

const { runs } = benchOptions({ runs: { usual: 100, quick: 20 } }, {});

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

function warmMedianMs(work: () => unknown): number {
  medianMs(WARM_UP_RUNS, work);
  return medianMs(runs, work);
}

const fewInodes = { inodes: 1_000_000, inodesFree: 1000 };
const SHORTAGES: [string, Summary['node']][] = [
  ['nothing', nodeWith({ memory: 500, disk: 50 })],
  ['memory', nodeWith({ memory: 50, disk: 50 })],
  ['disk', nodeWith({ memory: 500, disk: 5 })],
  ['inodes', { nodeName: 'node1', fs: fewInodes }],
];

const rows: Record<string, Compared> = {};
for (const count of COUNTS) {
  const pods = podsOf(count);
  const stats = pods.map(statsFor);
  const json = JSON.stringify(stats);
  const readMs = warmMedianMs(() => JSON.parse(json) as unknown);
  for (const [name, node] of SHORTAGES) {
    const figure = warmMedianMs(() => pass(pods, { node, pods: stats }));
    rows[`${count} pods, short of ${name} (ms)`] = {
      figure,
      beside: 'JSON.parse of the summary',
      itsFigure: readMs,
    };
    if (count === WANTED_COUNT && figure > WANTED_MS) process.exitCode = 1;
  }
}
process.stdout.write(`one pass of eviction; median of ${runs} runs\n`);
printTable(rows);
