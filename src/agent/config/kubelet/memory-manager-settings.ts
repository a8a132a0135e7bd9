/** Rows of the node's settings about memory that containers have on certain NUMA nodes. */
import { parseQuantity } from '../../policies/formats/quantity.ts';
import { isMemory } from '../../policies/memory-manager/reserved-memory.ts';
import type { MemoryManagerSettings, MemoryReservation } from '../../../types/node-settings.ts';
import { type Kind, type Setting, text } from '../setting.ts';

const POLICIES: readonly string[] = ['None', 'Static'];

const reservations: Kind<readonly MemoryReservation[]> = {
  fromText: (given) => {
    const nodes = given.split(';').filter((part) => part !== '');
    const read = nodes.map(reservationIn);
    return read.every((one) => one !== undefined) ? read : undefined;
  },
  fromField: (value) =>
    (value as readonly { numaNode: number; limits?: Record<string, string | number> }[]).map(
      ({ numaNode, limits = {} }) => ({
        numaNode,
        limits: Object.fromEntries(Object.entries(limits).map(([type, amount]) => [type, String(amount)])),
      }),
    ),
  expects: 'NODE:TYPE=SIZE,… such as 0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi',
  show: (value) =>
    value
      .map(({ numaNode, limits }) => {
        const amounts = Object.entries(limits).map(([type, amount]) => `${type}=${amount}`);
        return `${String(numaNode)}:${amounts.join(',')}`;
      })
      .join(';'),
  merge: (previous, value) => [...previous, ...value],
};

function reservationIn(given: string): MemoryReservation | undefined {
  const [, node, list] = /^(\d{1,9}):(.+)$/u.exec(given) ?? [];
  if (node === undefined || list === undefined) return undefined;
  const limits = new Map<string, string>();
  for (const pair of list.split(',')) {
    const [, type, amount] = /^([^=]+)=([^=]+)$/u.exec(pair) ?? [];
    // A second amount of the same kind could not be distinguished from the first one later.
    if (type === undefined || amount === undefined || limits.has(type)) return undefined;
    limits.set(type, amount);
  }
  return { numaNode: Number(node), limits: Object.fromEntries(limits) };
}

export const MEMORY_MANAGER_SETTINGS: {
  readonly [Name in keyof MemoryManagerSettings]: Setting<MemoryManagerSettings[Name]>;
} = {
  memoryManagerPolicy: {
    flag: '--memory-manager-policy <POLICY>',
    field: 'memoryManagerPolicy',
    default: 'None',
    kind: text as Kind<MemoryManagerSettings['memoryManagerPolicy']>,
    description: 'whether memory of NUMA nodes is kept for containers of Guaranteed pods: None or Static',
    problem: (value) => (POLICIES.includes(value) ? undefined : 'None or Static'),
  },
  reservedMemory: {
    flag: '--reserved-memory <LIST>',
    field: 'reservedMemory',
    default: [],
    kind: reservations,
    description: 'memory of each NUMA node that no container gets, such as 0:memory=1Gi;1:memory=1Gi',
    problem: reservationsProblem,
  },
};

function reservationsProblem(value: readonly MemoryReservation[]): string | undefined {
  const seen = new Set<string>();
  for (const { numaNode, limits } of value)
    for (const [type, amount] of Object.entries(limits)) {
      const where = `of ${type} for NUMA node ${String(numaNode)}`;
      if (numaNode < 0) return 'of NUMA nodes from 0';
      if (!isMemory(type)) return `amounts of memory or hugepages-SIZE, not ${where}`;
      const bytes = bytesIn(amount);
      if (bytes === undefined || bytes <= 0n) return `more than zero, and a quantity such as 1Gi: ${where}`;
      if (seen.has(where)) return `one amount ${where}`;
      seen.add(where);
    }
  return undefined;
}

function bytesIn(amount: string): bigint | undefined {
  try {
    return parseQuantity(amount).nanos;
  } catch {
    return undefined;
  }
}
