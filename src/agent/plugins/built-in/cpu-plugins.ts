import { isReclaimed, RECLAIMED_MILLICPU } from '../../policies/eviction-plugins/built-in/built-in-pods.ts';
import {
  judgeLoad,
  type LoadKept,
  loadVictims,
  NO_LOAD,
} from '../../policies/eviction-plugins/built-in/cpu-load.ts';
import {
  suppressedPods,
  type SuppressionKept,
} from '../../policies/eviction-plugins/built-in/cpu-suppression.ts';
import {
  judgeNumaCpu,
  NO_NUMA_CPU,
  type NumaCpuKept,
  numaCpuVictims,
} from '../../policies/eviction-plugins/built-in/numa-cpu.ts';
import {
  isReadingDue,
  judgeNumaSysCpu,
  NO_NUMA_SYS_CPU,
  type NumaSysCpuKept,
  numaSysCpuVictims,
  withReading,
} from '../../policies/eviction-plugins/built-in/numa-sys-cpu.ts';
import { reclaimableResources } from '../../policies/eviction-plugins/built-in/reclaimed-resources.ts';
import { coresIn } from './pass-figures.ts';
import { type BuiltIn, Unanswered } from './plugin-tools.ts';

/** Whether far more tasks want to run than the machine has CPUs. */
export const cpuLoad: BuiltIn<LoadKept> = {
  atFirst: NO_LOAD,

  async threshold(asked, figures, kept) {
    const load = await figures.load();
    return load === undefined
      ? new Unanswered('the kernel does not report its load')
      : judgeLoad(load, asked, kept);
  },

  async top(asked, figures, kept) {
    return asked.topN > 0 ? loadVictims(coresIn(await figures.pods()), asked, kept) : undefined;
  },
};

/** Whether reclaimed pods get far less processor time than they request. */
export const cpuSuppression: BuiltIn<SuppressionKept> = {
  atFirst: new Map(),

  async candidates(asked, figures, kept) {
    if (!asked.pods.some(isReclaimed)) return undefined;
    const use = { allocatable: figures.allocatable(), pods: asked.pods, stats: await figures.pods() };
    const milliCPU = reclaimableResources(use).get(RECLAIMED_MILLICPU);
    if (milliCPU !== undefined) return suppressedPods(milliCPU, asked, kept);
    return new Unanswered(
      'it is not known how much processor time the node can give to pods of reclaimed_cores',
    );
  },
};

/** Whether the CPUs of a NUMA node are busy. */
export const numaCpu: BuiltIn<NumaCpuKept> = {
  atFirst: NO_NUMA_CPU,

  async threshold(asked, figures, kept) {
    const nodes = await figures.numaCpus();
    return nodes.length > 0 ? judgeNumaCpu(nodes, asked, kept) : noNumaNodes();
  },

  async top(asked, figures, kept) {
    const [numaNodes, stats] = await Promise.all([figures.podsOnOneNode(asked.pods), figures.pods()]);
    return numaCpuVictims({ numaNodes, usedCores: coresIn(stats) }, asked, kept);
  },
};

/** Whether the kernel takes much time of the CPUs of a NUMA node. */
export const numaSysCpu: BuiltIn<NumaSysCpuKept> = {
  atFirst: NO_NUMA_SYS_CPU,

  async threshold(asked, figures, kept) {
    if (!isReadingDue(asked, kept)) return judgeNumaSysCpu(asked, kept);
    const [nodes, times] = await Promise.all([figures.numaCpus(), figures.timesOfPods(asked.pods)]);
    if (nodes.length === 0) return noNumaNodes();
    return judgeNumaSysCpu(asked, withReading({ nodes, times }, asked, kept));
  },

  async top(asked, figures, kept) {
    return numaSysCpuVictims(await figures.podsOnOneNode(asked.pods), asked, kept);
  },
};

function noNumaNodes(): Unanswered {
  return new Unanswered('the kernel does not report which CPUs are on which NUMA node');
}
