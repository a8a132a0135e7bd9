import type { MemoryBlock } from '../../policies/memory-manager/numa-memory.ts';
import type { HeldMemory, ResourceHolders } from '../../../types/pod-resources.ts';
import type { NodeParts } from './pod-node.ts';

type ResourceParts = Pick<NodeParts, 'devices' | 'cpus' | 'memory' | 'dra'>;

export function resourceHolders({ devices, cpus, memory, dra }: ResourceParts): ResourceHolders {
  return {
    ofContainer: (pod, container) => {
      const { uid } = pod.metadata;
      const { name } = container;
      return {
        devices: devices?.heldResources(uid, name) ?? [],
        cpuIDs: cpus?.exclusive(uid, name) ?? [],
        memory: (memory?.held(uid, name) ?? []).map(heldMemory),
        claims: dra?.heldClaims(pod, container) ?? [],
      };
    },
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
