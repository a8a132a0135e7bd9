/** The device manager's hints: on which NUMA nodes there are enough devices for a container. */
import { nodeSets, type TopologyHint } from '../topology/topology-hint.ts';
import { type Devices, hasTopology, healthyIds } from './device-list.ts';

export interface HintRequest {
  readonly devices: Devices;
  readonly count: number;
  /** The container has these already. */
  readonly held: readonly string[];
  /** Held by any container. */
  readonly allocated: ReadonlySet<string>;
  /** Devices of its pod's init containers, which have ended when it starts. */
  readonly reusable: ReadonlySet<string>;
  /** The nodes of the machine: a plugin may name others. */
  readonly numaNodes: readonly number[];
}

/**
 * Undefined: any nodes will do. Empty: no set of nodes has enough. The smallest number of nodes that would be enough if all
 * devices were free is preferred.
 */
export function deviceHints(request: HintRequest): readonly TopologyHint[] | undefined {
  const { devices, count, held, allocated, reusable } = request;
  if (!hasTopology(devices)) return undefined;
  if (held.length > 0) return held.length === count ? hintsAmong(request, new Set(held), new Set()) : [];
  const available = new Set(healthyIds(devices).filter((id) => !allocated.has(id)));
  return new Set([...available, ...reusable]).size < count ? [] : hintsAmong(request, available, reusable);
}

function hintsAmong(
  { devices, count, numaNodes }: HintRequest,
  available: ReadonlySet<string>,
  reusable: ReadonlySet<string>,
): readonly TopologyHint[] {
  const all = Array.from(devices, ([id, device]) => ({ id, numaNodes: device.numaNodes }));
  const near = [...new Set(all.flatMap((device) => device.numaNodes))];
  const hosting = near.filter((node) => numaNodes.includes(node));
  const nodes = hosting.length > 0 ? hosting : numaNodes;
  const kept = all.filter(({ id, numaNodes }) => reusable.has(id) && numaNodes.length > 0);
  const free = all.filter(({ id }) => available.has(id) && !reusable.has(id));
  let fewest = nodes.length;
  const fitting: (readonly number[])[] = [];
  for (const set of nodeSets(nodes)) {
    const isWithin = (device: { readonly numaNodes: readonly number[] }) =>
      device.numaNodes.some((node) => set.includes(node));
    if (all.filter(isWithin).length >= count) fewest = Math.min(fewest, set.length);
    if (kept.every(isWithin) && kept.length + free.filter(isWithin).length >= count) fitting.push(set);
  }
  return fitting.map((set) => ({ numaNodes: set, preferred: set.length === fewest }));
}
