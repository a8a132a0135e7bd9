/** Which container has which memory, and the file `memory_manager_state`, in the kubelet's format. */
import { fieldsOf } from '../formats/json-values.ts';
import { fnv1a32 } from '../pod-actions/restart.ts';
import type { NumaMemory, MemoryBlock, MemoryTable, NodeMemory } from './numa-memory.ts';

/** By the UID of the pod and the name of the container. */
export type MemoryAssignments = ReadonlyMap<string, ReadonlyMap<string, readonly MemoryBlock[]>>;

export interface MemoryState {
  readonly machine: NumaMemory;
  readonly assigned: MemoryAssignments;
}

interface NodeEntry {
  readonly numberOfAssignments: number;
  readonly memoryMap: Readonly<Record<string, MemoryTable>>;
  readonly cells: readonly number[];
}
type Entries = Readonly<Record<string, Readonly<Record<string, readonly MemoryBlock[]>>>>;

interface Content {
  readonly policyName: string;
  readonly machineState: Readonly<Record<string, NodeEntry>>;
  readonly entries: Entries;
}

/** The content of the file. */
export function memoryStateText(policyName: string, { machine, assigned }: MemoryState): string {
  const machineState = Object.fromEntries(
    Array.from(machine, ([id, node]) => [
      String(id),
      { ...node, memoryMap: Object.fromEntries(node.memoryMap) },
    ]),
  );
  const entries = Object.fromEntries(
    Array.from(assigned, ([uid, containers]) => [uid, Object.fromEntries(containers)]),
  );
  const content = { policyName, machineState, entries };
  return JSON.stringify({
    policyName,
    machineState,
    ...(assigned.size > 0 && { entries }),
    checksum: checksumOf(content),
  });
}

/** Throws an error that says what is wrong with the content, as the kubelet words it. */
export function readMemoryState(text: string, policyName: string): MemoryState {
  const { policyName: former, machineState, entries = {}, checksum } = fieldsOf(JSON.parse(text));
  const content = { policyName: former, machineState, entries };
  // The kubelet accepts a file without a checksum as well.
  if (!isContent(content) || ((checksum ?? 0) !== 0 && checksum !== checksumOf(content)))
    throw new Error('checkpoint is corrupted');
  if (former !== policyName)
    throw new Error(
      `[memorymanager] configured policy "${policyName}" differs from state checkpoint policy "${content.policyName}"`,
    );
  const nodes = Object.entries(content.machineState).map(([id, node]): [number, NodeMemory] => [
    Number(id),
    { ...node, memoryMap: new Map(Object.entries(node.memoryMap)) },
  ]);
  const assigned = Object.entries(content.entries).map(
    ([uid, containers]) => [uid, new Map(Object.entries(containers))] as const,
  );
  return { machine: new Map(nodes), assigned: new Map(assigned) };
}

const TABLE_FIELDS = ['total', 'systemReserved', 'allocatable', 'reserved', 'free'] as const;

function isContent(content: Readonly<Record<keyof Content, unknown>>): content is Content {
  return (
    typeof content.policyName === 'string' &&
    isRecordOf(content.machineState, isNode) &&
    isRecordOf(content.entries, (containers) => isRecordOf(containers, isBlocks))
  );
}

function isRecordOf(value: unknown, isRight: (member: unknown) => boolean): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    Object.values(value).every(isRight)
  );
}

function isNode(value: unknown): boolean {
  const { numberOfAssignments, memoryMap, cells } = fieldsOf(value);
  const isTable = (table: unknown) => TABLE_FIELDS.every((field) => isCount(fieldsOf(table)[field]));
  return isCount(numberOfAssignments) && isRecordOf(memoryMap, isTable) && isNodeList(cells);
}

function isBlocks(value: unknown): boolean {
  const isBlock = (block: unknown) => {
    const { numaAffinity, type, size } = fieldsOf(block);
    return isNodeList(numaAffinity) && typeof type === 'string' && isCount(size);
  };
  return Array.isArray(value) && value.every(isBlock);
}

function isNodeList(value: unknown): boolean {
  return Array.isArray(value) && value.every(isCount);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The kubelet's: FNV-1a of how Go would print the content. Go sorts maps. */
function checksumOf({ policyName, machineState, entries }: Content): number {
  const machine = goMap(machineState, goNode, (a, b) => Number(a) - Number(b));
  const containers = goMap(entries, (ofPod) =>
    goMap(ofPod, (blocks) => `[${blocks.map(goBlock).join(' ')}]`),
  );
  return fnv1a32(
    `(*state.MemoryManagerCheckpoint){PolicyName:(string)${policyName} MachineState:(state.NUMANodeMap)${machine} ` +
      `Entries:(state.ContainerMemoryAssignments)${containers} Checksum:(checksum.Checksum)0}`,
  );
}

function goMap<T>(
  record: Readonly<Record<string, T>>,
  show: (value: T) => string,
  order: (a: string, b: string) => number = (a, b) => (a < b ? -1 : 1),
): string {
  const sorted = Object.entries(record).sort(([a], [b]) => order(a, b));
  return `map[${sorted.map(([key, value]) => `${key}:${show(value)}`).join(' ')}]`;
}

function goNode({ numberOfAssignments, memoryMap, cells }: NodeEntry): string {
  const tables = goMap(memoryMap, (table) => {
    const { total, systemReserved, allocatable, reserved, free } = table;
    return (
      `<*>{TotalMemSize:(uint64)${total} SystemReserved:(uint64)${systemReserved} ` +
      `Allocatable:(uint64)${allocatable} Reserved:(uint64)${reserved} Free:(uint64)${free}}`
    );
  });
  return `<*>{NumberOfAssignments:(int)${numberOfAssignments} MemoryMap:(map[v1.ResourceName]*state.MemoryTable)${tables} Cells:${goInts(cells)}}`;
}

function goBlock({ numaAffinity, type, size }: MemoryBlock): string {
  return `{NUMAAffinity:${goInts(numaAffinity)} Type:(v1.ResourceName)${type} Size:(uint64)${size}}`;
}

function goInts(numbers: readonly number[]): string {
  return `([]int)[${numbers.join(' ')}]`;
}
