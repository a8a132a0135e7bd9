/** On which NUMA nodes CPUs for a container could be had: what the topology manager is told. */
import { nodeSets, type TopologyHint } from '../topology/topology-hint.ts';
import type { CpuSet } from './cpu-set.ts';
import { cpusIn, type CpuTopology, partNumbers, partsOf } from './cpu-topology.ts';

export interface CpuHintRequest {
  readonly available: CpuSet;
  /** What the pod has already and may use: only nodes that have all of it would do. */
  readonly reusable: CpuSet;
  readonly count: number;
  /** Option align-by-socket. */
  readonly alignsBySocket: boolean;
}

/** As few nodes as could ever do are preferred, or with align-by-socket as few sockets. */
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
