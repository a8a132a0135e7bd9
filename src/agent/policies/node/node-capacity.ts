/** The capacity of a node, as the kubelet reports it. */
import type { Taint } from '../../../types/kubernetes.ts';
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

type Labels = Readonly<Record<string, string>>;

const NAME = /^(?=.{1,63}$)[A-Za-z\d](?:[-\w.]*[A-Za-z\d])?$/;

const PREFIX = /^(?=.{1,253}$)[a-z\d](?:[-a-z\d]*[a-z\d])?(?:\.[a-z\d](?:[-a-z\d]*[a-z\d])?)*$/;

/** Namespaces of Kubernetes in which a node may label itself, with their subdomains. */
const OPEN_NAMESPACES = ['kubelet.kubernetes.io', 'node.kubernetes.io'];

const OPEN_LABELS = [
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
];

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** `NAME`, or `PREFIX/NAME` with a DNS name before the slash. */
export function isQualifiedName(text: string): boolean {
  const parts = text.split('/');
  const [name = '', prefix] = parts.toReversed();
  return parts.length <= 2 && NAME.test(name) && (prefix === undefined || PREFIX.test(prefix));
}

/** What is wrong with labels for the node, completing "must be …". */
export function nodeLabelsProblem(labels: Labels): string | undefined {
  const closed = Object.keys(labels).filter((key) => isOfKubernetes(key) && !mayBeSet(key));
  if (closed.length > 0) {
    const open = `under ${OPEN_NAMESPACES.join(' or ')}, or one of ${OPEN_LABELS.join(', ')}`;
    return `labels outside kubernetes.io and k8s.io, ${open}: ${closed.join(', ')} is none of these`;
  }
  for (const [key, value] of Object.entries(labels)) {
    if (!isQualifiedName(key)) return `labels such as example.com/disk=ssd: "${key}" is no name of a label`;
    if (!isLabelValue(value)) return `labels such as example.com/disk=ssd: ${valueProblem(value)}`;
  }
  return undefined;
}

/** What is wrong with taints for the node, completing "must be …". */
export function taintsProblem(taints: readonly Taint[]): string | undefined {
  for (const { key, value = '', effect, timeAdded } of taints) {
    if (!isQualifiedName(key)) return `taints: "${key}" is no key of a taint`;
    if (!isLabelValue(value)) return `taints: ${valueProblem(value)}`;
    if (!EFFECTS.includes(effect))
      return `taints with one of the effects ${EFFECTS.join(', ')}: "${effect}" is none`;
    if (timeAdded != null) return 'taints without timeAdded';
  }
  return undefined;
}

function isOfKubernetes(key: string): boolean {
  return /(?:^|\.)(?:kubernetes|k8s)\.io$/.test(namespaceOf(key));
}

function mayBeSet(key: string): boolean {
  const namespace = namespaceOf(key);
  return (
    OPEN_LABELS.includes(key) ||
    OPEN_NAMESPACES.some((open) => namespace === open || namespace.endsWith(`.${open}`))
  );
}

function namespaceOf(key: string): string {
  const slash = key.indexOf('/');
  return slash < 0 ? '' : key.slice(0, slash);
}

function isLabelValue(value: string): boolean {
  return value === '' || NAME.test(value);
}

function valueProblem(value: string): string {
  return `"${value}" is no value: at most 63 letters, digits, "-", "_" and ".", beginning and ending with a letter or digit`;
}
