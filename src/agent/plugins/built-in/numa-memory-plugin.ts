import {
  judgeNumaMemory,
  type NumaMemoryKept,
  numaMemoryVictims,
} from '../../policies/eviction-plugins/built-in/numa-pressure.ts';
import { type BuiltIn, Unanswered } from './plugin-tools.ts';

/** Whether a NUMA node is short of memory although the others may have enough. */
export const numaMemory: BuiltIn<NumaMemoryKept> = {
  atFirst: [],

  async threshold(asked, figures, kept) {
    const nodes = await figures.numaMemory();
    if (nodes.length > 1) return judgeNumaMemory(nodes, asked, kept);
    return new Unanswered(
      nodes.length === 0
        ? '/proc/zoneinfo of this kernel has no NUMA nodes'
        : 'the machine has one NUMA node: the whole machine is watched by system-memory-pressure-eviction-plugin',
    );
  },

  /** Goes by what the last `threshold` found. */
  async top(asked, figures, kept) {
    if (kept.every(({ reach }) => reach === undefined)) return undefined;
    const bytes = await figures.memoryOnNodes();
    if (bytes.size > 0) return numaMemoryVictims(bytes, asked, kept);
    return new Unanswered(
      'a NUMA node is short of memory, but no cgroup shows which pods have their memory there',
    );
  },
};
