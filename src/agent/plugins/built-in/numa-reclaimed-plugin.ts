import {
  judgeNumaReclaimed,
  numaReclaimedVictims,
  type NumaReclaimedKept,
  reclaimedByNode,
} from '../../policies/eviction-plugins/built-in/numa-reclaimed.ts';
import { isReclaimed } from '../../policies/eviction-plugins/built-in/built-in-pods.ts';
import type { BuiltIn } from './plugin-tools.ts';

/** Whether pods of `reclaimed_cores` that are bound to a NUMA node request far more than that node can give them. */
export const numaReclaimed: BuiltIn<NumaReclaimedKept> = {
  atFirst: [],

  async threshold(asked, figures, kept) {
    const reclaimed = asked.pods.filter(isReclaimed);
    if (reclaimed.length === 0) return undefined;
    const numaNodes = await figures.podsOnOneNode(reclaimed);
    if (reclaimedByNode(asked.pods, numaNodes).size === 0) return undefined;
    const [cpus, memory, bytes, stats] = await Promise.all([
      figures.numaCpus(),
      figures.numaMemory(),
      figures.memoryOnNodes(),
      figures.pods(),
    ]);
    const facts = { allocatable: figures.allocatable(), cpus, memory, bytes, numaNodes, stats };
    return judgeNumaReclaimed(facts, asked, kept);
  },

  async top(asked, figures, kept) {
    return numaReclaimedVictims(await figures.podsOnOneNode(asked.pods.filter(isReclaimed)), asked, kept);
  },
};
