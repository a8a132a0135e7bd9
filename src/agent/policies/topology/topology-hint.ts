/** A set of NUMA nodes that would do for what a container needs. */
export interface TopologyHint {
  /** In ascending order; undefined: any will do. */
  readonly numaNodes: readonly number[] | undefined;
  /** The container cannot be served by fewer nodes, or is as near together as it can be. */
  readonly preferred: boolean;
}

/**
 * The hints of one provider, by resource. Undefined: it does not matter where the resource is from. An empty list: no set of nodes would do.
 * A provider without any resource does not care.
 */
export type TopologyHints = ReadonlyMap<string, readonly TopologyHint[] | undefined>;

/** The sets of nodes double with each node: above this only single nodes and all nodes together are looked at. */
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
