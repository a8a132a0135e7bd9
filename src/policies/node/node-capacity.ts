/** The capacity of a node, as the kubelet reports it. */
import { isQualifiedName } from './node-labels.ts';
import { formatQuantity, parseQuantity, type Quantity, type QuantityFormat } from '../formats/quantity.ts';
import type { ResourceList } from '../pod/resources.ts';

export interface MachineSize {
  /** The number of logical CPUs. */
  readonly cpus: number;
  readonly memoryBytes: number;
  /** The number of huge pages, by their size in bytes. */
  readonly hugePages: ReadonlyMap<number, number>;
}

interface NodeSize extends MachineSize {
  /** The size of the file system that holds the root directory. */
  readonly ephemeralStorageBytes: number;
}

export interface CapacitySettings {
  readonly maxPods: number;
  /** 0: only `maxPods` counts. */
  readonly podsPerCore: number;
  readonly extendedResources: ResourceList;
}

export function nodeCapacity(machine: NodeSize, settings: CapacitySettings): ResourceList {
  return {
    ...Object.fromEntries(
      Array.from(machineCapacity(machine), ([resource, quantity]) => [resource, formatQuantity(quantity)]),
    ),
    'ephemeral-storage': formatQuantity(amount(machine.ephemeralStorageBytes, 'BinarySI')),
    pods: formatQuantity(podCapacity(machine.cpus, settings)),
    ...settings.extendedResources,
  };
}

/**
 * What is built into the machine: CPUs, memory and huge pages. Bytes stay binary when something is taken from them, also where their text
 * alone does not show it: 1048577, less 1, is 1Mi.
 */
export function machineCapacity({
  cpus,
  memoryBytes,
  hugePages,
}: MachineSize): ReadonlyMap<string, Quantity> {
  return new Map([
    ['cpu', amount(cpus, 'DecimalSI')],
    ['memory', amount(memoryBytes, 'BinarySI')],
    ...Array.from(hugePages, ([pageBytes, pages]): [string, Quantity] => [
      `hugepages-${formatQuantity(amount(pageBytes, 'BinarySI'))}`,
      amount(pageBytes * pages, 'BinarySI'),
    ]),
  ]);
}

/** A number of bytes, read back from its text. */
export function bytesQuantity(text: string): Quantity {
  return { nanos: parseQuantity(text).nanos, format: 'BinarySI' };
}

/** How many pods may run on the node. */
export function podCapacity(
  cpus: number,
  { maxPods, podsPerCore }: Pick<CapacitySettings, 'maxPods' | 'podsPerCore'>,
): Quantity {
  return amount(podsPerCore > 0 ? Math.min(cpus * podsPerCore, maxPods) : maxPods, 'DecimalSI');
}

/** What is wrong with the extended resources of the settings, completing "must be …". */
export function extendedResourceProblem(resources: ResourceList): string | undefined {
  for (const [name, given] of Object.entries(resources)) {
    if (!isExtendedResourceName(name))
      return `resources with a domain of their own, not of kubernetes.io, such as example.com/gpu: "${name}" is none`;
    if (!isWhole(given)) return `whole amounts: that of "${name}" is ${given}`;
  }
  return undefined;
}

const NANOS = 10n ** 9n;

function amount(whole: number, format: QuantityFormat): Quantity {
  return { nanos: BigInt(whole) * NANOS, format };
}

/** The name must still be valid with the prefix that quotas add to it. */
export function isExtendedResourceName(name: string): boolean {
  return (
    name.includes('/') &&
    !name.includes('kubernetes.io/') &&
    !name.startsWith('requests.') &&
    isQualifiedName(`requests.${name}`)
  );
}

function isWhole(given: string): boolean {
  try {
    const { nanos } = parseQuantity(given);
    return nanos >= 0n && nanos % NANOS === 0n;
  } catch {
    return false;
  }
}
