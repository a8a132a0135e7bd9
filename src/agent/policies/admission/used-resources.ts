/** How much of a node's resources its pods use, and whether what is left is enough for another pod. */
import type { PortMapping } from '../../../types/cri.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { milliValue, parseQuantity, type Quantity, quantityValue } from '../formats/quantity.ts';
import { hostPorts } from '../network/port-mappings.ts';
import { podRequest, podRequests, type ResourceList } from '../pod/resources.ts';
import type { InsufficientResource } from './rejection.ts';

export interface UsedResources {
  readonly pods: number;
  /** The sum of the requests. Of `cpu` in thousandths, of all others in whole units. */
  amount(resource: string): number;
  /** The mappings that use the node's port of that number, of every protocol and address. */
  portsOf(hostPort: number): readonly PortMapping[];
}

export const NOTHING_USED: UsedResources = { pods: 0, amount: () => 0, portsOf: () => [] };

/** What these pods hold, summed up at each call. The methods throw what `parseQuantity` throws. */
export function usedBy(pods: readonly Pod[]): UsedResources {
  return {
    pods: pods.length,
    amount: (resource) =>
      pods.reduce((sum, pod) => sum + resourceAmount(resource, podRequest(pod, resource)), 0),
    portsOf: (number) =>
      pods.flatMap(({ spec }) => hostPorts(spec).filter(({ hostPort }) => hostPort === number)),
  };
}

/** Thousandths of `cpu`, whole units of all other resources, rounded up. Exact up to 2^53: 9 PB. */
export function resourceAmount(resource: string, quantity: Quantity): number {
  return Number(resource === 'cpu' ? milliValue(quantity) : quantityValue(quantity));
}

/** The kubelet names these first, in this order, and all other resources sorted by name. */
const FIRST = ['cpu', 'memory', 'ephemeral-storage'];

/** The resources that are short. The number of pods comes first. Throws what `parseQuantity` throws. */
export function insufficientResources(
  pod: Pod,
  held: UsedResources,
  allocatable: ResourceList,
): readonly InsufficientResource[] {
  const checks: InsufficientResource[] = [
    podCount(held, allocatable),
    ...countedResources(pod, allocatable).map((resource) => ({
      kind: 'resource' as const,
      resource,
      requested: resourceAmount(resource, podRequest(pod, resource)),
      used: held.amount(resource),
      capacity: capacity(allocatable, resource),
    })),
  ];
  return checks.filter((check) => check.requested > 0 && check.requested > check.capacity - check.used);
}

function podCount(held: UsedResources, allocatable: ResourceList): InsufficientResource {
  const used = held.pods;
  return { kind: 'resource', resource: 'pods', requested: 1, used, capacity: capacity(allocatable, 'pods') };
}

/** Extended resources count only if the node lists them: others are given out by their own controllers. */
function countedResources(pod: Pod, allocatable: ResourceList): readonly string[] {
  const requested = [...podRequests(pod).keys()];
  const others = requested.filter((name) =>
    isExtendedResource(name) ? Object.hasOwn(allocatable, name) : isOtherScalarResource(name),
  );
  return [...FIRST.filter((name) => requested.includes(name)), ...others.sort()];
}

function isExtendedResource(name: string): boolean {
  return name.includes('/') && !name.includes('kubernetes.io/') && !name.startsWith('requests.');
}

/** Resources of other names (`storage`, …) do not belong to nodes. */
function isOtherScalarResource(name: string): boolean {
  return /^hugepages-|^attachable-volumes-|kubernetes\.io\//.test(name);
}

function capacity(allocatable: ResourceList, resource: string): number {
  const text = Object.hasOwn(allocatable, resource) ? allocatable[resource] : undefined;
  return text === undefined ? 0 : resourceAmount(resource, parseQuantity(text));
}

const ANY_ADDRESS = '0.0.0.0';

export function areHostPortsFree(pod: Pod, held: UsedResources): boolean {
  return hostPorts(pod.spec).every(
    (port) => !held.portsOf(port.hostPort).some((used) => conflict(port, used)),
  );
}

function conflict(a: PortMapping, b: PortMapping): boolean {
  if (a.hostPort !== b.hostPort || a.protocol !== b.protocol) return false;
  const [one, other] = [a.hostIp || ANY_ADDRESS, b.hostIp || ANY_ADDRESS];
  return one === other || one === ANY_ADDRESS || other === ANY_ADDRESS;
}
