/** Sets the NUMA nodes of a container's memory in its configuration. */
import { cpuSet, cpuSetString } from '../../policies/cpus/cpu-set.ts';
import { podOfUID } from '../node/compose-node.ts';
import type { PodSubsystem } from '../node/pod-node.ts';
import type { MemoryManager } from './memory-manager.ts';

/** The topology manager assigns and frees the memory. */
export function memorySubsystem(memory: MemoryManager): PodSubsystem {
  return {
    name: 'memory',
    container: ({ pod: { metadata }, container: { name } }) => {
      const nodes = memory.held(metadata.uid, name).flatMap(({ numaAffinity }) => numaAffinity);
      // The kernel writes sets of nodes as it writes sets of CPUs.
      const cpusetMems = cpuSetString(cpuSet(nodes));
      return Promise.resolve(cpusetMems === '' ? {} : { resources: { cpusetMems } });
    },
    podsOnDisk: () => Promise.resolve(memory.pods.map(podOfUID)),
  };
}
