/** The downward API: the fields of a pod that its containers can read. */
import { StateletError } from '../../../types/errors.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import { goQuote } from '../formats/go-text.ts';
import { qualifiedNameProblems } from '../formats/qualified-name.ts';
import {
  compareQuantity,
  milliValue,
  parseQuantity,
  type Quantity,
  quantityOrZero,
  quantityValue,
} from '../formats/quantity.ts';
import type { ResourceList } from '../pod/resources.ts';

export interface PodAddresses {
  /** In both lists the primary address comes first. */
  readonly podIPs: readonly string[];
  readonly hostIPs: readonly string[];
}

type Field<Facts = undefined> = (pod: Pod, facts: Facts) => string;

/** Fields that may change while a container runs only by a change of the pod itself. */
const METADATA: ReadonlyMap<string, Field> = new Map<string, Field>(
  Object.entries({
    'metadata.name': ({ metadata }) => metadata.name,
    'metadata.namespace': ({ metadata }) => metadata.namespace,
    'metadata.uid': ({ metadata }) => metadata.uid,
    'metadata.labels': ({ metadata }) => mapContent(metadata.labels ?? {}),
    'metadata.annotations': ({ metadata }) => mapContent(metadata.annotations ?? {}),
  }),
);

const nodeName: Field<PodAddresses> = ({ spec }) => spec.nodeName ?? '';

const FIELDS: ReadonlyMap<string, Field<PodAddresses>> = new Map<string, Field<PodAddresses>>(
  Object.entries({
    'spec.nodeName': nodeName,
    // The name of old clients.
    'spec.host': nodeName,
    'spec.serviceAccountName': ({ spec }) => spec.serviceAccountName ?? '',
    'status.podIP': (_, { podIPs }) => podIPs[0] ?? '',
    'status.podIPs': (_, { podIPs }) => podIPs.join(','),
    'status.hostIP': (_, { hostIPs }) => hostIPs[0] ?? '',
    'status.hostIPs': (_, { hostIPs }) => hostIPs.join(','),
  }),
);

/** Fields that Kubernetes knows, and whose values no container can read. */
const LABELS_WITHOUT_VALUE: ReadonlySet<string> = new Set([
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
]);

/** `metadata.labels['key']`, `metadata.annotations['key']`. */
const SUBSCRIPT = /^metadata\.(labels|annotations)\['(.*)'\]$/s;
const ANY_SUBSCRIPT = /^.+?\['.*'\]$/s;
const SUBSCRIPTS = ["metadata.labels['KEY']", "metadata.annotations['KEY']"];

/** Empty if the pod does not have the field. An unknown `fieldPath` throws a StateletError of kind InvalidArgument. */
export function fieldValue(pod: Pod, fieldPath: string, addresses: PodAddresses): string {
  const field = FIELDS.get(fieldPath);
  if (field) return field(pod, addresses);
  const value = metadataValue(pod, fieldPath);
  if (value !== undefined) return value;
  throw refused(labelProblem(fieldPath), [...METADATA.keys(), ...FIELDS.keys()]);
}

/** A variable's path is read twice: first whether the version of the pod has such a field at all, then for its value. */
function labelProblem(fieldPath: string): string {
  if (ANY_SUBSCRIPT.test(fieldPath)) return `field label does not support subscript: ${fieldPath}`;
  if (LABELS_WITHOUT_VALUE.has(fieldPath)) return `unsupported fieldPath: ${fieldPath}`;
  return `field label not supported: ${fieldPath}`;
}

/**
 * The same for files: only of the pod's metadata. The pod's addresses may change while a container runs, so files cannot hold
 * them.
 */
export function fileFieldValue(pod: Pod, fieldPath: string): string {
  const value = metadataValue(pod, fieldPath);
  if (value !== undefined) return value;
  const problem = ANY_SUBSCRIPT.test(fieldPath)
    ? `fieldPath ${goQuote(fieldPath)} does not support subscript`
    : `unsupported fieldPath: ${fieldPath}`;
  throw refused(problem, [...METADATA.keys()]);
}

function refused(problem: string, known: readonly string[]): StateletError {
  const message = `${problem} (there are: ${[...known, ...SUBSCRIPTS].join(', ')})`;
  return new StateletError('InvalidArgument', message);
}

/** The end of a sentence about a fieldPath. */
export const UNSUPPORTED_FIELD_PATH = `is not supported in a volume; there are: ${[...METADATA.keys(), ...SUBSCRIPTS].join(', ')}`;

export function isVolumeFieldPath(fieldPath: string): boolean {
  return METADATA.has(fieldPath) || (SUBSCRIPT.exec(fieldPath)?.[2] ?? '') !== '';
}

function metadataValue(pod: Pod, fieldPath: string): string | undefined {
  const [, map, key] = SUBSCRIPT.exec(fieldPath) ?? [];
  if (key === undefined) return METADATA.get(fieldPath)?.(pod, undefined);
  // Keys of annotations may have capitals also in their prefix.
  const problems = qualifiedNameProblems(map === 'annotations' ? key.toLowerCase() : key);
  if (problems.length === 0) return own(pod.metadata[map as 'labels' | 'annotations'], key);
  const message = `invalid key subscript in ${fieldPath}: ${problems.join(';')}`;
  throw new StateletError('InvalidArgument', message);
}

/** Only own properties count: a label may be called `constructor`. */
function own(map: Readonly<Record<string, string>> | undefined, key: string): string {
  return map && Object.hasOwn(map, key) ? (map[key] ?? '') : '';
}

/** A line `key="value"` for each entry, sorted by key, without a line feed at the end. */
function mapContent(map: Readonly<Record<string, string>>): string {
  const keys = Object.keys(map).sort((a, b) => (a < b ? -1 : 1));
  return keys.map((key) => `${key}=${goQuote(map[key] ?? '')}`).join('\n');
}

type AnyContainer = Container | EphemeralContainer;

type ResourceFieldRef = NonNullable<
  NonNullable<NonNullable<Container['env']>[number]['valueFrom']>['resourceFieldRef']
>;

/** Resources whose missing limit is the node's allocatable amount. */
const FROM_NODE: ReadonlySet<string> = new Set(['cpu', 'memory', 'ephemeral-storage']);

/** Resources of which the pod itself can have a limit. */
const POD_LEVEL: ReadonlySet<string> = new Set(['cpu', 'memory']);

/**
 * The value of a resourceFieldRef, in units of its divisor, rounded up. Throws a StateletError of kind InvalidArgument for a
 * container or resource that does not exist, and for a malformed quantity.
 */
export function resourceFieldValue(
  pod: Pod,
  container: AnyContainer,
  ref: ResourceFieldRef,
  allocatable: ResourceList,
): string {
  const owner = ref.containerName ? namedContainer(pod, ref.containerName) : container;
  const [, field, resource] =
    /^(requests|limits)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/.exec(ref.resource) ?? [];
  if (!field || !resource) throw unknownResource(ref.resource);
  const quantity =
    field === 'limits' ? limitOf(pod, owner, resource, allocatable) : requestOf(owner, resource);
  const units = resource === 'cpu' ? milliValue : quantityValue;
  return String(dividedUp(units(quantity), units(divisorOf(ref))));
}

/** Sources have already set requests that are missing to the limits. */
function requestOf({ resources }: AnyContainer, resource: string): Quantity {
  return quantityOrZero(resources?.requests?.[resource]);
}

function limitOf(
  pod: Pod,
  { resources }: AnyContainer,
  resource: string,
  allocatable: ResourceList,
): Quantity {
  const limit = quantityOrZero(resources?.limits?.[resource]);
  if (limit.nanos !== 0n || !FROM_NODE.has(resource)) return limit;
  const ofNode = quantityOrZero(allocatable[resource]);
  const ofPod = POD_LEVEL.has(resource) ? pod.spec.resources?.limits?.[resource] : undefined;
  if (ofPod === undefined) return ofNode;
  const podLimit = quantityOrZero(ofPod);
  return compareQuantity(podLimit, ofNode) > 0 ? ofNode : podLimit;
}

function divisorOf({ divisor }: ResourceFieldRef): Quantity {
  const quantity = quantityOrZero(divisor);
  return quantity.nanos === 0n ? parseQuantity('1') : quantity;
}

function dividedUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}

function namedContainer({ spec }: Pod, name: string): Container {
  const found = [...spec.containers, ...(spec.initContainers ?? [])].find(
    (candidate) => candidate.name === name,
  );
  if (found) return found;
  throw new StateletError('InvalidArgument', `container ${name} not found`);
}

function unknownResource(resource: string): StateletError {
  return new StateletError(
    'InvalidArgument',
    `unsupported container resource : ${resource} (there are: requests. and limits. of cpu, memory, ephemeral-storage and hugepages-SIZE)`,
  );
}
