/** The allocatable resources of a node: its capacity, less the reservations and what eviction keeps free. */
import { StateletError } from '../../../types/errors.ts';
import type { ReservedSettings } from '../../../types/node-settings.ts';
import { thresholdValues, thresholdQuantity } from '../eviction/thresholds.ts';
import {
  addQuantity,
  type Quantity,
  quantityString,
  quantityIn,
  subQuantity,
  ZERO_QUANTITY,
} from '../formats/quantity.ts';
import { amountIn, type ResourceList, type ResourceQuantities } from '../pod/resources.ts';

export interface Reservations {
  readonly systemReserved: ResourceList;
  readonly kubeReserved: ResourceList;
}

export interface NodeReservations extends Reservations {
  readonly evictionHard: Readonly<Record<string, string>>;
}

/** The resources that can be reserved. */
const RESERVABLE: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage', 'pid']);
/** The resource that eviction keeps free, by its signal. */
const KEPT_BY_EVICTION = new Map([
  ['memory.available', 'memory'],
  ['nodefs.available', 'ephemeral-storage'],
]);

/** Whether process ids are reserved. */
export function reservesPIDs({ systemReserved, kubeReserved }: Reservations): boolean {
  return [systemReserved, kubeReserved].some((list) => amountIn(list, 'pid').nanos > 0n);
}

/** What is wrong with a reservation, in the kubelet's words. */
export function reservationProblem(reserved: ResourceList): string | undefined {
  for (const [resource, amount] of Object.entries(reserved)) {
    if (!RESERVABLE.has(resource)) return `cannot reserve "${resource}" resource`;
    const quantity = quantityIn(amount);
    if (quantity === undefined) return `failed to parse quantity "${amount}" for "${resource}" resource`;
    if (quantity.nanos < 0n) return `resource quantity for "${resource}" cannot be negative: ${amount}`;
  }
  return undefined;
}

/** The resources that admission gives out. Throws `InvalidArgument` if more is reserved than the node has. */
export function nodeAllocatable(capacity: ResourceList, reservations: NodeReservations): ResourceList {
  const reserved = allReserved(capacity, reservations);
  const problems = Object.keys(capacity)
    .sort()
    .flatMap((resource) => excess(capacity, resource, reserved));
  if (problems.length === 0) return without(capacity, reserved);
  throw new StateletError(
    'InvalidArgument',
    `invalid Node Allocatable configuration. ${problems.join(' ')} The reservation is the sum of systemReserved ` +
      '(--system-reserved), kubeReserved (--kube-reserved) and evictionHard (--eviction-hard).',
  );
}

/**
 * The limit on all pods together. It includes what eviction keeps free, so that eviction starts before the limit is reached.
 * Throws as `nodeAllocatable` does.
 */
export function enforcedAllocatable(capacity: ResourceList, reservations: Reservations): ResourceList {
  return nodeAllocatable(capacity, { ...reservations, evictionHard: {} });
}

/** What pods may not use, by resource: the reservations and what eviction keeps free. */
export function reservedResources(capacity: ResourceList, reservations: NodeReservations): ResourceList {
  const amounts = [...allReserved(capacity, reservations)].filter(([, { nanos }]) => nanos !== 0n);
  return Object.fromEntries(amounts.map(([resource, amount]) => [resource, quantityString(amount)]));
}

function excess(capacity: ResourceList, resource: string, reserved: ResourceQuantities): string[] {
  const reservation = reserved.get(resource) ?? ZERO_QUANTITY;
  const available = amountIn(capacity, resource);
  if (reservation.nanos <= available.nanos) return [];
  const amounts = `a reservation of ${quantityString(reservation)} but capacity of ${quantityString(available)}`;
  return [`Resource "${resource}" has ${amounts}. Expected capacity >= reservation.`];
}

function allReserved(
  capacity: ResourceList,
  { systemReserved, kubeReserved, evictionHard }: NodeReservations,
): ResourceQuantities {
  const kept = keptByEviction(capacity, evictionHard);
  const sum = (resource: string): Quantity =>
    [amountIn(systemReserved, resource), amountIn(kubeReserved, resource), kept.get(resource)]
      .filter((amount) => amount !== undefined)
      .reduce(addQuantity, ZERO_QUANTITY);
  return new Map(Object.keys(capacity).map((resource) => [resource, sum(resource)]));
}

function keptByEviction(
  capacity: ResourceList,
  evictionHard: Readonly<Record<string, string>>,
): ResourceQuantities {
  const kept = new Map<string, Quantity>();
  for (const [signal, value] of thresholdValues(evictionHard)) {
    const resource = KEPT_BY_EVICTION.get(signal);
    if (resource) kept.set(resource, thresholdQuantity(value, amountIn(capacity, resource)));
  }
  return kept;
}

/** Never below zero. Huge pages use memory, so it is taken from the memory. */
function without(capacity: ResourceList, reserved: ResourceQuantities): ResourceList {
  const left = new Map(
    Object.keys(capacity).map((resource) => [
      resource,
      lessAtMost(amountIn(capacity, resource), reserved.get(resource) ?? ZERO_QUANTITY),
    ]),
  );
  for (const resource of Object.keys(capacity).filter((name) => name.startsWith('hugepages-'))) {
    const memory = left.get('memory');
    if (memory) left.set('memory', lessAtMost(memory, amountIn(capacity, resource)));
  }
  return Object.fromEntries(Array.from(left, ([resource, amount]) => [resource, quantityString(amount)]));
}

/** At least zero. An amount from which nothing is taken keeps its spelling. */
function lessAtMost(amount: Quantity, taken: Quantity): Quantity {
  if (taken.nanos === 0n) return amount;
  const left = subQuantity(amount, taken);
  return left.nanos < 0n ? { ...left, nanos: 0n } : left;
}

export interface ReservedGroup {
  /** As in the kubelet's events: `kube reserved`, `system reserved`. */
  readonly title: string;
  readonly field: 'kubeReservedCgroup' | 'systemReservedCgroup';
  /** As configured: a path, or with the systemd driver a slice. */
  readonly name: string;
  readonly limits: ResourceList;
}

export function reservedGroups(
  { enforceNodeAllocatable: enforced, kubeReservedCgroup, systemReservedCgroup }: ReservedSettings,
  { kubeReserved, systemReserved }: Reservations,
): readonly ReservedGroup[] {
  const limits = (key: string, reserved: ResourceList): ResourceList | undefined => {
    if (enforced.includes(key)) return reserved;
    return enforced.includes(`${key}-compressible`) ? compressible(reserved) : undefined;
  };
  const system = limits('system-reserved', systemReserved);
  const kube = limits('kube-reserved', kubeReserved);
  return [
    { title: 'system reserved', field: 'systemReservedCgroup', name: systemReservedCgroup, limits: system },
    { title: 'kube reserved', field: 'kubeReservedCgroup', name: kubeReservedCgroup, limits: kube },
  ].flatMap(({ limits, ...group }) => (limits ? [{ ...group, limits } as ReservedGroup] : []));
}

/** What can be taken away again from processes: CPU. */
function compressible({ cpu }: ResourceList): ResourceList {
  return cpu === undefined ? {} : { cpu };
}
