/** How much memory of each kind each NUMA node has, and how much of it is reserved for containers. */

/** In bytes, with the field names of the kubelet's file. */
export interface MemoryTable {
  readonly total: number;
  /** No container gets it. */
  readonly systemReserved: number;
  readonly allocatable: number;
  /** Reserved for containers. */
  readonly reserved: number;
  readonly free: number;
}

export interface NodeMemory {
  /** How many blocks are on the node: memory and huge pages of a container are two blocks. */
  readonly numberOfAssignments: number;
  /** By the kind: `memory`, `hugepages-2Mi`. */
  readonly memoryMap: ReadonlyMap<string, MemoryTable>;
  /** The group of NUMA nodes: a container gets memory of all of them or of none. */
  readonly cells: readonly number[];
}

/** By the number of the NUMA node. */
export type NumaMemory = ReadonlyMap<number, NodeMemory>;

/** The memory of one kind that is reserved for a container. */
export interface MemoryBlock {
  /** The NUMA nodes, in ascending order. */
  readonly numaAffinity: readonly number[];
  readonly type: string;
  readonly size: number;
}

/** Bytes by kind, of each NUMA node. */
export type MemoryByNode = ReadonlyMap<number, ReadonlyMap<string, number>>;

/** The machine with no container on it. Huge pages are taken off the memory of their node. */
export function emptyMachine(sizes: MemoryByNode, reserved: MemoryByNode): NumaMemory {
  const nodes = Array.from(sizes, ([id, ofNode]): [number, NodeMemory] => {
    const hugePages = [...ofNode].reduce((sum, [type, size]) => (type === MEMORY ? sum : sum + size), 0);
    const tables = Array.from(ofNode, ([type, total]): [string, MemoryTable] => {
      const systemReserved = reserved.get(id)?.get(type) ?? 0;
      const allocatable = Math.max(0, total - systemReserved - (type === MEMORY ? hugePages : 0));
      return [type, { total, systemReserved, allocatable, reserved: 0, free: allocatable }];
    });
    return [id, { numberOfAssignments: 0, memoryMap: new Map(tables), cells: [id] }];
  });
  return new Map(nodes);
}

export const MEMORY = 'memory';

/** A block of several nodes takes what the first one has, then what the next one has. */
export function withBlocks(machine: NumaMemory, blocks: readonly MemoryBlock[]): NumaMemory {
  const nodes = new Map(machine);
  for (const { numaAffinity, type, size } of blocks) {
    let left = size;
    for (const id of numaAffinity) {
      const node = nodes.get(id);
      if (node === undefined) continue;
      const taken = Math.min(left, node.memoryMap.get(type)?.free ?? 0);
      left -= taken;
      nodes.set(id, {
        numberOfAssignments: node.numberOfAssignments + 1,
        memoryMap: withTaken(node.memoryMap, type, taken),
        cells: numaAffinity,
      });
    }
  }
  return nodes;
}

function withTaken(tables: NodeMemory['memoryMap'], type: string, taken: number): NodeMemory['memoryMap'] {
  const table = tables.get(type);
  if (table === undefined || taken === 0) return tables;
  return new Map(tables).set(type, {
    ...table,
    reserved: table.reserved + taken,
    free: table.free - taken,
  });
}

/** What the nodes have together. */
export function sumOf(
  machine: NumaMemory,
  nodes: readonly number[],
  type: string,
  field: keyof MemoryTable,
): number {
  return nodes.reduce((sum, id) => sum + (machine.get(id)?.memoryMap.get(type)?.[field] ?? 0), 0);
}

/** Whether these nodes can be a group: containers with memory on some of them have it on all of them, and on no others. */
export function areTogether(machine: NumaMemory, nodes: readonly number[]): boolean {
  const [only, ...others] = nodes;
  // Containers of one node may share it with each other.
  if (only !== undefined && others.length === 0) return (machine.get(only)?.cells.length ?? 1) === 1;
  return nodes.every((id) => {
    const node = machine.get(id);
    return node === undefined || node.numberOfAssignments === 0 || areSame(node.cells, nodes);
  });
}

export function areSame(some: readonly number[], others: readonly number[]): boolean {
  return some.length === others.length && some.every((id) => others.includes(id));
}
