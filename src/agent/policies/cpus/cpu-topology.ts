/** Where the CPUs of a machine are: which ones share a core, a cache, a socket, a NUMA node. */
import { type CpuSet, cpuSet, parseCpuSet } from './cpu-set.ts';

/** A part of a machine that contains CPUs. `cache`: the last-level cache, which is smaller than a socket on some machines. */
export type CpuPart = 'core' | 'cache' | 'socket' | 'node';

export type CpuPlace = Readonly<Record<CpuPart, number>>;

export interface CpuTopology {
  /** The CPUs that are online. */
  readonly cpus: CpuSet;
  readonly places: ReadonlyMap<number, CpuPlace>;
  /** NUMA nodes that have CPUs. */
  readonly nodes: readonly number[];
  readonly cpusPerCore: number;
}

/** What `/sys/devices/system` says of a CPU. */
export interface CpuFacts {
  readonly cpu: number;
  readonly coreId: number;
  readonly packageId: number;
  readonly node: number;
  /** The CPUs that share its last cache: `0-7`. Undefined where the kernel does not report it. */
  readonly cacheCpus: string | undefined;
}

/** The number of a core or cache is its lowest CPU, since the kernel's core numbers are unique only within a socket. */
export function cpuTopology(facts: readonly CpuFacts[]): CpuTopology {
  const lowest = new Map<string, number>();
  const online = new Set(facts.map(({ cpu }) => cpu));
  const keyOf = ({ coreId, packageId, node }: CpuFacts) => [node, packageId, coreId].join();
  for (const each of facts) lowest.set(keyOf(each), Math.min(each.cpu, lowest.get(keyOf(each)) ?? Infinity));
  const places = facts.map((each): [number, CpuPlace] => {
    const sharing = parseCpuSet(each.cacheCpus ?? '')?.filter((cpu) => online.has(cpu)) ?? [];
    const core = lowest.get(keyOf(each)) ?? each.cpu;
    // If the cache is not known, the socket counts as the cache.
    const cache = sharing[0] ?? each.packageId;
    return [each.cpu, { core, cache, socket: each.packageId, node: each.node }];
  });
  const topology = { cpus: cpuSet(online), places: new Map(places) };
  const cores = partsOf(topology, 'core').size;
  return {
    ...topology,
    nodes: [...partsOf(topology, 'node').keys()].sort((a, b) => a - b),
    cpusPerCore: cores === 0 ? 1 : Math.floor(online.size / cores),
  };
}

/** The CPUs of each core, cache, socket or node, by its number. Of `among`, if given. */
export function partsOf(
  { cpus, places }: Pick<CpuTopology, 'cpus' | 'places'>,
  part: CpuPart,
  among: CpuSet = cpus,
): ReadonlyMap<number, CpuSet> {
  const parts = new Map<number, number[]>();
  for (const cpu of among) {
    const number = places.get(cpu)?.[part];
    if (number === undefined) continue;
    const ofPart = parts.get(number);
    if (ofPart) ofPart.push(cpu);
    else parts.set(number, [cpu]);
  }
  return parts;
}

/** The CPUs, of those given, that are in one of these cores, caches, sockets or nodes. */
export function cpusIn(
  { places }: CpuTopology,
  part: CpuPart,
  numbers: readonly number[],
  among: CpuSet,
): CpuSet {
  const wanted = new Set(numbers);
  return among.filter((cpu) => wanted.has(places.get(cpu)?.[part] ?? -1));
}

/** The numbers of the cores, caches, sockets or nodes that these CPUs are in. */
export function partNumbers(topology: CpuTopology, part: CpuPart, cpus: CpuSet): readonly number[] {
  return cpuSet(partsOf(topology, part, cpus).keys());
}
