/** The memory manager's hints: on which NUMA nodes there is enough memory for a container. */
import { nodeSets, type TopologyHint } from '../topology/topology-hint.ts';
import { areTogether, type NumaMemory, sumOf } from './numa-memory.ts';

/** A hint that names its nodes. */
export interface MemoryHint extends TopologyHint {
  readonly numaNodes: readonly number[];
}

/** How much memory of a kind is wanted, in bytes. */
export type WantedMemory = ReadonlyMap<string, number>;

/** Memory of the pod's init containers on exactly these nodes, which it uses again. */
export type ReusableMemory = (nodes: readonly number[], type: string) => number;

/** Sorted, the best one first. The smallest number of nodes that would be enough on the empty machine is preferred. */
export function memoryHints(
  machine: NumaMemory,
  wanted: WantedMemory,
  reusable: ReusableMemory,
): readonly MemoryHint[] {
  const kinds = [...wanted];
  const sets = nodeSets([...machine.keys()]).filter((nodes) =>
    kinds.every(([type, size]) => sumOf(machine, nodes, type, 'allocatable') >= size),
  );
  const fewest = sets[0]?.length;
  return sets
    .filter(
      (nodes) =>
        areTogether(machine, nodes) &&
        kinds.every(([type, size]) => sumOf(machine, nodes, type, 'free') + reusable(nodes, type) >= size),
    )
    .map((numaNodes) => ({ numaNodes, preferred: numaNodes.length === fewest }));
}
