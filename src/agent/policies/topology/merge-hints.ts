/** Merges the hints of all providers: on which NUMA nodes a container or a pod gets its devices, CPUs and memory. */
import { compareNodes, type TopologyHint, type TopologyHints } from './topology-hint.ts';

export type TopologyPolicy = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

/** The NUMA nodes of a machine. */
export interface NumaNodes {
  /** In ascending order. */
  readonly ids: readonly number[];
  /** From each node to each, in the order of `ids`. */
  readonly distances: readonly (readonly number[])[];
}

export interface MergeSettings {
  readonly policy: Exclude<TopologyPolicy, 'none'>;
  readonly numa: NumaNodes;
  /** Option prefer-closest-numa-nodes. */
  readonly prefersClosest: boolean;
}

export interface MergedHint {
  readonly hint: TopologyHint;
  readonly isAdmitted: boolean;
}

const ANY: TopologyHint = { numaNodes: undefined, preferred: true };
const NONE_WOULD_DO: TopologyHint = { numaNodes: undefined, preferred: false };

/**
 * Takes one hint of each resource and intersects their nodes, in all combinations. A combination is preferred if all its hints
 * are, and name the same nodes.
 */
export function mergeHints(settings: MergeSettings, providers: readonly TopologyHints[]): MergedHint {
  const { policy, numa } = settings;
  const all = providers.flatMap(hintsOfProvider);
  const isSingle = policy === 'single-numa-node';
  const hints = isSingle ? all.map((ofResource) => ofResource.filter(isOnOneNode)) : all;
  const best = bestOf(settings, commonHints(numa, hints), mostNeeded(hints));
  const isAdmitted = policy === 'best-effort' || best.preferred;
  // All nodes will do: the providers are free to choose.
  if (isSingle && best.numaNodes?.length === numa.ids.length)
    return { hint: { ...best, numaNodes: undefined }, isAdmitted };
  return { hint: best, isAdmitted };
}

function hintsOfProvider(hints: TopologyHints): readonly (readonly TopologyHint[])[] {
  if (hints.size === 0) return [[ANY]];
  return Array.from(hints.values(), (ofResource) => {
    if (ofResource === undefined) return [ANY];
    return ofResource.length === 0 ? [NONE_WOULD_DO] : ofResource;
  });
}

function isOnOneNode({ numaNodes, preferred }: TopologyHint): boolean {
  return preferred && (numaNodes === undefined || numaNodes.length === 1);
}

interface Common {
  /** All nodes until a hint names some. */
  readonly nodes: readonly number[];
  readonly isNamed: boolean;
  readonly preferred: boolean;
}

/**
 * The intersections for all combinations of one hint of each resource. Equal ones are kept once: there are at most two for each
 * set of nodes, while the kubelet goes through the product of all hints.
 */
function commonHints({ ids }: NumaNodes, hints: readonly (readonly TopologyHint[])[]): readonly Common[] {
  let common: readonly Common[] = [{ nodes: ids, isNamed: false, preferred: true }];
  for (const ofResource of hints) {
    const next = new Map<string, Common>();
    for (const one of common) {
      for (const hint of ofResource) {
        const both = together(one, hint);
        next.set(`${both.nodes.join()} ${both.isNamed} ${both.preferred}`, both);
      }
    }
    common = [...next.values()];
  }
  return common;
}

function together({ nodes, isNamed, preferred }: Common, hint: TopologyHint): Common {
  const { numaNodes } = hint;
  const bothPreferred = preferred && hint.preferred;
  if (numaNodes === undefined) return { nodes, isNamed, preferred: bothPreferred };
  const shared = nodes.filter((node) => numaNodes.includes(node));
  const isSame = shared.length === nodes.length && shared.length === numaNodes.length;
  return { nodes: shared, isNamed: true, preferred: bothPreferred && (!isNamed || isSame) };
}

/**
 * The number of nodes of the resource that needs most: among hints that are not preferred, those with this number of nodes are
 * best.
 */
function mostNeeded(hints: readonly (readonly TopologyHint[])[]): number {
  const fewest = hints.map((ofResource) =>
    Math.min(...ofResource.flatMap(({ numaNodes }) => numaNodes?.length ?? [])),
  );
  return Math.max(0, ...fewest.filter(Number.isFinite));
}

function bestOf(settings: MergeSettings, common: readonly Common[], needed: number): TopologyHint {
  const { numa, policy } = settings;
  const closest = settings.prefersClosest && policy !== 'single-numa-node';
  const isBetter = (a: Common, b: Common) =>
    rank(a, needed) - rank(b, needed) ||
    (closest ? distance(numa, a.nodes) - distance(numa, b.nodes) : 0) ||
    compareNodes(a.nodes, b.nodes);
  const [best] = common.filter(({ nodes }) => nodes.length > 0).sort(isBetter);
  return best
    ? { numaNodes: best.nodes, preferred: best.preferred }
    : { numaNodes: numa.ids, preferred: false };
}

/**
 * Lower is better: first preferred hints, those with few nodes first; then hints with as many nodes as are needed, with fewer,
 * with more.
 */
function rank({ nodes, preferred }: Common, needed: number): number {
  const count = nodes.length;
  if (preferred) return count;
  if (count > needed) return 2_000 + count;
  return 1_000 + needed - count;
}

/** The mean of the distances between the nodes, their own included. */
function distance({ ids, distances }: NumaNodes, nodes: readonly number[]): number {
  const indexes = nodes.map((node) => ids.indexOf(node));
  const all = indexes.flatMap((from) => indexes.map((to) => distances[from]?.[to] ?? 0));
  return all.reduce((sum, each) => sum + each, 0) / all.length;
}
