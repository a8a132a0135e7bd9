/** On which NUMA nodes memory for a container could be had: what the topology manager is told. */
import { nodeSets, type TopologyHint } from '../topology/topology-hint.ts';
import { areTogether, type NumaMemory, sumOf } from './numa-memory.ts';

/** A hint that names its nodes. */
export interface MemoryHint extends TopologyHint {
  readonly numaNodes: readonly number[];
}

/** How much memory of a kind is wanted, in bytes. */
export type WantedMemory = ReadonlyMap<string, number>;

/** What the pod has on exactly these nodes and may use again. */
export type ReusableMemory = (nodes: readonly number[], type: string) => number;

/** The best one first. As few nodes as would do on the empty machine are preferred. */
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
