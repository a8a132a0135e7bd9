/** Whether the node has what a pod requests: its allocatable resources, less what the other pods hold. */
import type { Pod } from '../../types/kubernetes.ts';
import type { InsufficientResource } from './rejection.ts';
import { countedAmount, type HeldResources } from './held-resources.ts';
import { parseQuantity } from '../formats/quantity.ts';
import { podRequest, podRequests } from '../pod/resources.ts';
import type { ResourceList } from '../pod/resources.ts';

/** The kubelet names these first, in this order, and all other resources sorted by name. */
const FIRST = ['cpu', 'memory', 'ephemeral-storage'];

/** The resources that are short. The number of pods comes first. Throws what `parseQuantity` throws. */
export function insufficientResources(
  pod: Pod,
  held: HeldResources,
  allocatable: ResourceList,
): readonly InsufficientResource[] {
  const checks: InsufficientResource[] = [
    podCount(held, allocatable),
    ...countedResources(pod, allocatable).map((resource) => ({
      kind: 'resource' as const,
      resource,
      requested: countedAmount(resource, podRequest(pod, resource)),
      used: held.amount(resource),
      capacity: capacity(allocatable, resource),
    })),
  ];
  return checks.filter((check) => check.requested > 0 && check.requested > check.capacity - check.used);
}

function podCount(held: HeldResources, allocatable: ResourceList): InsufficientResource {
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
  return text === undefined ? 0 : countedAmount(resource, parseQuantity(text));
}
