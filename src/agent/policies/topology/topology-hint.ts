/** A set of NUMA nodes that together have enough for a container. */
export interface TopologyHint {
  /** In ascending order; undefined: any will do. */
  readonly numaNodes: readonly number[] | undefined;
  /** No smaller set of nodes could be enough. */
  readonly preferred: boolean;
}

/**
 * The hints of one provider, by resource. Undefined: any nodes will do. An empty list: no set of nodes has enough. Empty map: the
 * container needs nothing of the provider.
 */
export type TopologyHints = ReadonlyMap<string, readonly TopologyHint[] | undefined>;

/** The number of sets doubles with each node: on larger machines only single nodes and all nodes together are considered. */
const NODES_COMBINED_MAX = 8;

/** All sets of these nodes but the empty one: small sets first, and among sets of a size those with lower nodes. */
export function nodeSets(nodes: readonly number[]): readonly (readonly number[])[] {
  const sorted = nodes.toSorted((a, b) => a - b);
  if (sorted.length > NODES_COMBINED_MAX) return [...sorted.map((node) => [node]), sorted];
  const sets = sorted.reduce<number[][]>(
    (sets, node) => [...sets, ...sets.map((set) => [...set, node])],
    [[]],
  );
  return sets.slice(1).sort((a, b) => a.length - b.length || compareNodes(a, b));
}

/** Of two sets of the same size the one comes first whose bit mask is the lower number, as with the kubelet. */
export function compareNodes(a: readonly number[], b: readonly number[]): number {
  for (let index = a.length - 1; index >= 0; index--) {
    const difference = (a[index] ?? 0) - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
