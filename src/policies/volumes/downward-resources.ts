/** The downward API: the requests and limits of a container. */
import type { Container, EphemeralContainer, Pod } from '../../types/kubernetes.ts';
import { StateletError } from '../../types/errors.ts';
import {
  compareQuantity,
  milliValue,
  parseQuantity,
  quantityValue,
  ZERO_QUANTITY,
} from '../formats/quantity.ts';
import type { Quantity } from '../formats/quantity.ts';
import type { ResourceList } from '../pod/resources.ts';

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
  return parsed(resources?.requests?.[resource]);
}

function limitOf(
  pod: Pod,
  { resources }: AnyContainer,
  resource: string,
  allocatable: ResourceList,
): Quantity {
  const limit = parsed(resources?.limits?.[resource]);
  if (limit.nanos !== 0n || !FROM_NODE.has(resource)) return limit;
  const ofNode = parsed(allocatable[resource]);
  const ofPod = POD_LEVEL.has(resource) ? pod.spec.resources?.limits?.[resource] : undefined;
  if (ofPod === undefined) return ofNode;
  const podLimit = parsed(ofPod);
  return compareQuantity(podLimit, ofNode) > 0 ? ofNode : podLimit;
}

function divisorOf({ divisor }: ResourceFieldRef): Quantity {
  const quantity = parsed(divisor);
  return quantity.nanos === 0n ? parseQuantity('1') : quantity;
}

function parsed(text: string | undefined): Quantity {
  return text === undefined ? ZERO_QUANTITY : parseQuantity(text);
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
