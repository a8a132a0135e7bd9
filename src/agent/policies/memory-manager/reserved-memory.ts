/** `reservedMemory`: how much memory of each NUMA node is for no container. */
import {
  addQuantity,
  parseQuantity,
  quantityString,
  quantityValue,
  ZERO_QUANTITY,
} from '../formats/quantity.ts';
import { amountIn, type ResourceList } from '../pod/resources.ts';
import type { MemoryReservation } from '../../../types/node-settings.ts';
import { MEMORY, type MemoryByNode } from './numa-memory.ts';

export function reservedByNode(reservations: readonly MemoryReservation[]): MemoryByNode {
  const reserved = new Map<number, Map<string, number>>();
  for (const { numaNode, limits } of reservations) {
    const ofNode = reserved.get(numaNode) ?? new Map<string, number>();
    for (const [type, amount] of Object.entries(limits))
      ofNode.set(type, Number(quantityValue(parseQuantity(amount))));
    reserved.set(numaNode, ofNode);
  }
  return reserved;
}

/**
 * Why these reservations do not match the machine, or `nodeReserved`: the sum of systemReserved, kubeReserved and evictionHard.
 * The message is the kubelet's.
 */
export function reservedMemoryProblem(
  reservations: readonly MemoryReservation[],
  nodes: readonly number[],
  nodeReserved: ResourceList,
): string | undefined {
  const missing = reservations.find(({ numaNode }) => !nodes.includes(numaNode));
  if (missing)
    return `the reserved memory configuration references a NUMA node ${missing.numaNode} that does not exist on this machine`;
  const kinds = new Set(reservations.flatMap(({ limits }) => Object.keys(limits)));
  for (const type of Object.keys(nodeReserved)) if (isMemory(type)) kinds.add(type);
  for (const type of kinds) {
    const total = reservations.map(({ limits }) => amountIn(limits, type)).reduce(addQuantity, ZERO_QUANTITY);
    const expected = amountIn(nodeReserved, type);
    if (total.nanos !== expected.nanos)
      return `the total amount "${quantityString(total)}" of type "${type}" is not equal to the value "${quantityString(expected)}" determined by Node Allocatable feature`;
  }
  return kinds.has(MEMORY) ? undefined : '[memorymanager] you should specify the system reserved memory';
}

export function isMemory(type: string): boolean {
  return type === MEMORY || type.startsWith('hugepages-');
}
