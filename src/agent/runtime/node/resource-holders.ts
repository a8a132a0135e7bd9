import type { MemoryBlock } from '../../policies/memory-manager/numa-memory.ts';
import type { HeldMemory, ResourceHolders } from '../../../types/pod-resources.ts';
import type { NodeParts } from './pod-node.ts';

type ResourceParts = Pick<NodeParts, 'devices' | 'cpus' | 'memory'>;

export function resourceHolders({ devices, cpus, memory }: ResourceParts): ResourceHolders {
  return {
    ofContainer: (uid, container) => ({
      devices: devices?.heldResources(uid, container) ?? [],
      cpuIDs: cpus?.exclusive(uid, container) ?? [],
      memory: (memory?.held(uid, container) ?? []).map(heldMemory),
    }),
    allocatable: () => ({
      devices: devices?.healthyResources() ?? [],
      cpuIDs: cpus?.allocatable ?? [],
      memory: (memory?.allocatable ?? []).map(heldMemory),
    }),
  };
}

function heldMemory({ type, size, numaAffinity }: MemoryBlock): HeldMemory {
  return { memoryType: type, sizeBytes: size, numaNodes: numaAffinity };
}
