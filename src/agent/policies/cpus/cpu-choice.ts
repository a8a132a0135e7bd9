/** Which of the free CPUs a container gets. */
import { type CpuSet, cpuSet, cpuSetString, union, without } from './cpu-set.ts';
import { type CpuPart, cpusIn, type CpuTopology, partsOf } from './cpu-topology.ts';

/** The options of the static policy, by the kubelet's names. */
export interface CpuOptions {
  readonly 'full-pcpus-only': boolean;
  readonly 'distribute-cpus-across-numa': boolean;
  readonly 'align-by-socket': boolean;
  readonly 'distribute-cpus-across-cores': boolean;
  readonly 'strict-cpu-reservation': boolean;
  readonly 'prefer-align-cpus-by-uncorecache': boolean;
}

export type ChoiceOptions = Pick<
  CpuOptions,
  'distribute-cpus-across-cores' | 'prefer-align-cpus-by-uncorecache'
>;

export class NotEnoughCpus extends Error {
  constructor(requested: number, available: number) {
    super(`not enough cpus available to satisfy request: requested=${requested}, available=${available}`);
    this.name = 'NotEnoughCpus';
  }
}

interface Taking {
  free: CpuSet;
  needed: number;
  taken: CpuSet;
}

/**
 * Packed: whole NUMA nodes and sockets that are needed and free, then whole cores, then single CPUs. Parts with few free CPUs are
 * taken first, so that large parts stay free. Throws NotEnoughCpus.
 */
export function packedCpus(
  topology: CpuTopology,
  available: CpuSet,
  count: number,
  options: ChoiceOptions,
): CpuSet {
  if (count > available.length) throw new NotEnoughCpus(count, available.length);
  const taking: Taking = { free: available, needed: count, taken: [] };
  const [first, second] = hierarchy(topology);
  takeWhole(topology, taking, [first]);
  takeWhole(topology, taking, [first, second]);
  if (options['prefer-align-cpus-by-uncorecache']) takeOfCaches(topology, taking);
  const spreads = options['distribute-cpus-across-cores'];
  if (!spreads) takeWhole(topology, taking, [first, second, 'core']);
  const path: readonly CpuPart[] = spreads ? pathTo(topology, 'socket') : [first, second, 'core'];
  const rest = inOrder(topology, path, taking.free).flatMap(({ free }) => free);
  take(taking, rest.slice(0, taking.needed));
  if (taking.needed > 0)
    throw new Error(`of CPUs ${cpuSetString(available)} ${taking.needed} could not be taken`);
  return taking.taken;
}

/** Which of NUMA node and socket is the larger one: of a socket with several nodes, it is the socket. */
function hierarchy(topology: CpuTopology): readonly ['node' | 'socket', 'node' | 'socket'] {
  const sockets = partsOf(topology, 'socket').size;
  return sockets >= topology.nodes.length ? ['node', 'socket'] : ['socket', 'node'];
}

function pathTo(topology: CpuTopology, part: 'node' | 'socket'): readonly CpuPart[] {
  const [first, second] = hierarchy(topology);
  return first === part ? [first] : [first, second];
}

/** NUMA nodes in the order in which CPUs are taken from them. */
export function nodesInOrder(topology: CpuTopology, free: CpuSet): readonly number[] {
  return inOrder(topology, pathTo(topology, 'node'), free).map(({ number }) => number);
}

interface FreePart {
  readonly number: number;
  readonly free: CpuSet;
}

/** Those with few free CPUs first; within each the next smaller parts in the same way. */
function inOrder(topology: CpuTopology, path: readonly CpuPart[], free: CpuSet): readonly FreePart[] {
  const [part, ...smaller] = path;
  if (part === undefined) return [];
  const sorted = Array.from(partsOf(topology, part, free), ([number, free]) => ({ number, free })).sort(
    (a, b) => a.free.length - b.free.length || a.number - b.number,
  );
  return smaller.length === 0 ? sorted : sorted.flatMap(({ free }) => inOrder(topology, smaller, free));
}

function take(taking: Taking, cpus: CpuSet): void {
  taking.taken = union(taking.taken, cpus);
  taking.free = without(taking.free, cpus);
  taking.needed -= cpus.length;
}

/** Takes the last part of the path if all of it is free and needed. */
function takeWhole(topology: CpuTopology, taking: Taking, path: readonly CpuPart[]): void {
  const part = path.at(-1);
  if (part === undefined || taking.needed === 0) return;
  const whole = partsOf(topology, part);
  for (const { number, free } of inOrder(topology, path, taking.free)) {
    if (free.length === whole.get(number)?.length && taking.needed >= free.length) take(taking, free);
  }
}

/** Takes whole caches, then the rest from one cache, if one has enough whole cores. */
function takeOfCaches(topology: CpuTopology, taking: Taking): void {
  const path: readonly CpuPart[] = [...pathTo(topology, 'node'), 'cache'];
  const perCache = Math.floor(topology.cpus.length / Math.max(1, partsOf(topology, 'cache').size));
  for (const { number } of inOrder(topology, path, taking.free)) {
    if (taking.needed >= perCache) takeWhole(topology, taking, path);
    if (taking.needed > 0) takeOfCache(topology, taking, number);
    if (taking.needed === 0) return;
  }
}

function takeOfCache(topology: CpuTopology, taking: Taking, cache: number): void {
  const { cpusPerCore } = topology;
  const ofCache = partsOf(topology, 'core', cpusIn(topology, 'cache', [cache], taking.free));
  const cores = cpuSet(ofCache.keys()).slice(0, Math.ceil(taking.needed / cpusPerCore));
  const free = cpuSet(cores.flatMap((core) => ofCache.get(core) ?? []));
  const isOdd = taking.needed % 2 !== 0 && cpusPerCore > 1;
  const fitting = isOdd && free.length > taking.needed ? free.slice(0, -1) : free;
  if (fitting.length === taking.needed) take(taking, fitting);
}
