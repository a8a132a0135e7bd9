/**
 * The option distribute-cpus-across-numa: CPUs that do not fit on one NUMA node come in equal parts from as few nodes as
 * possible.
 */
import { type ChoiceOptions, NotEnoughCpus, nodesInOrder, packedCpus } from './cpu-choice.ts';
import { type CpuSet, union, without } from './cpu-set.ts';
import { cpusIn, type CpuTopology } from './cpu-topology.ts';

interface Distribution {
  readonly nodes: readonly number[];
  /** How many CPUs each node gives. */
  readonly each: number;
  /** The nodes that give the rest, a group of CPUs each. */
  readonly remainder: readonly number[];
  /** How uneven the free CPUs of all nodes are afterwards. */
  readonly unevenness: number;
}

interface Wanted {
  readonly count: number;
  /** CPUs are taken in groups of this size: whole cores. */
  readonly group: number;
  /** How many CPUs are free, by NUMA node. */
  readonly free: ReadonlyMap<number, number>;
}

/** Packed if the CPUs cannot be distributed. Throws NotEnoughCpus. */
export function distributedCpus(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  group: number,
  options: ChoiceOptions,
): CpuSet {
  const packing = { ...options, 'prefer-align-cpus-by-uncorecache': false };
  const packed = (from: CpuSet, wanted: number) => packedCpus(topology, from, wanted, packing);
  if (count > available.length) throw new NotEnoughCpus(count, available.length);
  if (count === 0 || count % group !== 0) return packed(available, count);
  const order = nodesInOrder(topology, available);
  const freeOf = (node: number, free: CpuSet) => cpusIn(topology, 'node', [node], free);
  const free = new Map(order.map((node) => [node, freeOf(node, available).length]));
  const chosen = bestDistribution(topology, order, { count, group, free });
  if (chosen === undefined) return packed(available, count);
  let taken: CpuSet = [];
  const takeFrom = (node: number, wanted: number) => {
    taken = union(taken, packed(freeOf(node, without(available, taken)), wanted));
  };
  for (const node of chosen.nodes) takeFrom(node, chosen.each);
  while (taken.length < count) {
    for (const node of chosen.remainder) {
      if (taken.length < count && freeOf(node, without(available, taken)).length >= group)
        takeFrom(node, group);
    }
  }
  return taken;
}

function bestDistribution(
  { cpus, nodes }: CpuTopology,
  order: readonly number[],
  wanted: Wanted,
): Distribution | undefined {
  const { count, group } = wanted;
  const groups = Math.ceil(count / group);
  const groupsPerNode = Math.ceil(Math.ceil(cpus.length / group) / nodes.length);
  for (let size = Math.ceil(groups / groupsPerNode); size <= Math.min(groups, order.length); size++) {
    const all = combinations(order, size).flatMap((nodes) => distributionOver(nodes, wanted) ?? []);
    const [best] = all.sort((a, b) => a.unevenness - b.unevenness);
    if (best) return best;
  }
  return undefined;
}

function distributionOver(
  nodes: readonly number[],
  { count, group, free }: Wanted,
): Distribution | undefined {
  const freeOf = (node: number) => free.get(node) ?? 0;
  const groups = nodes.reduce((sum, node) => sum + Math.floor(freeOf(node) / group), 0);
  const each = Math.floor(count / nodes.length / group) * group;
  if (groups * group < count || nodes.some((node) => freeOf(node) < each)) return undefined;
  const left = new Map(free);
  for (const node of nodes) left.set(node, freeOf(node) - each);
  const rest = count - each * nodes.length;
  if (rest === 0) return { nodes, each, remainder: [], unevenness: unevenness(left) };
  const giving = nodes.filter((node) => (left.get(node) ?? 0) >= group);
  const best = giving
    .flatMap((_, index) => combinations(giving, giving.length - index))
    .flatMap((remainder) => {
      const after = lessRest(left, remainder, rest, group);
      return after ? [{ nodes, each, remainder, unevenness: unevenness(after) }] : [];
    })
    .sort((a, b) => a.unevenness - b.unevenness);
  return best[0];
}

/** What is free when these nodes have given the rest; undefined if they have too little. */
function lessRest(
  free: ReadonlyMap<number, number>,
  giving: readonly number[],
  rest: number,
  group: number,
): ReadonlyMap<number, number> | undefined {
  const left = new Map(free);
  for (let missing = rest; missing > 0;) {
    const before = missing;
    for (const node of giving) {
      const has = left.get(node) ?? 0;
      if (missing === 0 || has < group) continue;
      left.set(node, has - group);
      missing -= group;
    }
    if (missing === before) return undefined;
  }
  return left;
}

/** The standard deviation, to three digits as with the kubelet: smaller differences do not count. */
function unevenness(amounts: ReadonlyMap<number, number>): number {
  const rounded = (value: number) => Math.round(value * 1000) / 1000;
  const values = [...amounts.values()];
  const mean = rounded(values.reduce((sum, value) => sum + value, 0) / values.length);
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return rounded(Math.sqrt(squares / values.length));
}

/** In the order of the list. */
function combinations(list: readonly number[], size: number): readonly (readonly number[])[] {
  if (size === 0) return [[]];
  return list.flatMap((first, index) =>
    combinations(list.slice(index + 1), size - 1).map((others) => [first, ...others]),
  );
}
