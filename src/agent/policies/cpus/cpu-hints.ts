/** The CPU manager's hints: on which NUMA nodes there are enough CPUs for a container. */
import { nodeSets, type TopologyHint } from '../topology/topology-hint.ts';
import type { CpuSet } from './cpu-set.ts';
import { cpusIn, type CpuTopology, partNumbers, partsOf } from './cpu-topology.ts';

export interface CpuHintRequest {
  readonly available: CpuSet;
  /** CPUs of the pod's init containers, which it uses again: only sets of nodes with all of them are hints. */
  readonly reusable: CpuSet;
  readonly count: number;
  /** Option align-by-socket. */
  readonly alignsBySocket: boolean;
}

/** The smallest number of nodes that would be enough on an empty machine is preferred, or with align-by-socket of sockets. */
export function cpuHints(topology: CpuTopology, request: CpuHintRequest): readonly TopologyHint[] {
  const { available, reusable, count, alignsBySocket } = request;
  const within = (nodes: readonly number[], cpus: CpuSet) => cpusIn(topology, 'node', nodes, cpus).length;
  const sets = nodeSets(topology.nodes);
  const enough = sets.filter((nodes) => within(nodes, topology.cpus) >= count);
  const fewest = Math.min(topology.nodes.length, ...enough.map(({ length }) => length));
  return sets
    .filter(
      (nodes) =>
        within(nodes, reusable) === reusable.length && reusable.length + within(nodes, available) >= count,
    )
    .map((numaNodes) => ({
      numaNodes,
      preferred:
        numaNodes.length === fewest || (alignsBySocket && isOnFewSockets(topology, numaNodes, fewest)),
    }));
}

function isOnFewSockets(topology: CpuTopology, numaNodes: readonly number[], fewest: number): boolean {
  const nodesPerSocket = Math.floor(topology.nodes.length / partsOf(topology, 'socket').size);
  if (nodesPerSocket === 0) return false;
  const sockets = partNumbers(topology, 'socket', cpusIn(topology, 'node', numaNodes, topology.cpus));
  return sockets.length === Math.ceil(fewest / nodesPerSocket);
}
