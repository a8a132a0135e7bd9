/**
 * The CPU and memory that the node has granted a pod. A change of the spec (desired) takes effect only once it has been granted
 * (allocated): until then all parts of the agent use the allocated values.
 */
import type { Container, Pod, ResourceRequirements } from '../../../types/kubernetes.ts';
import type { PodAllocation } from '../../../types/runtime-pod.ts';
import { equalJson, isJsonObject } from '../formats/canonical-json.ts';
import { compareQuantity, parseQuantity } from '../formats/quantity.ts';
import { initAndRegular } from '../pod-actions/restart.ts';
import { podQOS } from '../pod/qos.ts';
import { amountIn, podRequest, type ResourceList } from '../pod/resources.ts';

export function allocationFromPod({ spec }: Pick<Pod, 'spec'>): PodAllocation {
  const containers = Object.fromEntries(
    initAndRegular({ spec }).map(({ name, resources }) => [name, withoutEmpty(resources)]),
  );
  return { containers, pod: spec.resources && withoutEmpty(spec.resources) };
}

/** Whether a value that was read from a file is an allocation. */
export function isAllocation(value: unknown): value is PodAllocation {
  const { containers } = (value ?? {}) as { readonly containers?: unknown };
  return isJsonObject(containers) && Object.values(containers).every(isJsonObject);
}

/** As the API server writes them: in this order, and no empty lists. */
export function withoutEmpty({ limits, requests, claims }: ResourceRequirements = {}): ResourceRequirements {
  return {
    ...(isSet(limits) && { limits }),
    ...(isSet(requests) && { requests }),
    ...(claims && claims.length > 0 && { claims }),
  };
}

function isSet(list: ResourceList | undefined): list is ResourceList {
  return list !== undefined && Object.keys(list).length > 0;
}

/** The pod with its granted resources. A quantity that equals that of the spec keeps the spec's notation. */
export function podAsAllocated(pod: Pod, allocation: PodAllocation | undefined): Pod {
  if (allocation === undefined || isAllocated(pod, allocation)) return pod;
  const granted = <C extends Container>(container: C): C =>
    isGranted(container, allocation.containers)
      ? container
      : { ...container, resources: allocation.containers[container.name] };
  const { spec } = pod;
  const resources = isPodGranted(spec, allocation) ? spec.resources : allocation.pod;
  const initContainers = spec.initContainers?.map(granted);
  const containers = spec.containers.map(granted);
  return { ...pod, spec: { ...spec, resources, initContainers, containers } };
}

/** Whether the spec requests what was granted, whatever the notation of the quantities. */
export function isAllocated({ spec }: Pick<Pod, 'spec'>, allocation: PodAllocation): boolean {
  return (
    isPodGranted(spec, allocation) &&
    initAndRegular({ spec }).every((container) => isGranted(container, allocation.containers))
  );
}

function isPodGranted({ resources }: Pod['spec'], { pod }: PodAllocation): boolean {
  return (resources === undefined) === (pod === undefined) && equalRequirements(resources, pod);
}

function isGranted({ name, resources }: Container, containers: PodAllocation['containers']): boolean {
  return !Object.hasOwn(containers, name) || equalRequirements(resources, containers[name]);
}

/** Whether the pod as desired requests more CPU or memory than the pod as allocated. */
export function increasesRequests(desired: Pod, allocated: Pod): boolean {
  return ['cpu', 'memory'].some(
    (resource) => compareQuantity(podRequest(desired, resource), podRequest(allocated, resource)) > 0,
  );
}

/** Whether the amount of a Guaranteed pod, or of one of its containers, changes. */
export function changesGuaranteed(desired: Pod, allocated: Pod, resource: 'cpu' | 'memory'): boolean {
  if (podQOS(allocated) !== 'Guaranteed') return false;
  const amounts = (pod: Pod) =>
    [pod.spec, ...initAndRegular(pod)].map(({ resources }) => amountIn(resources?.requests, resource));
  const before = amounts(allocated);
  return amounts(desired).some(({ nanos }, index) => nanos !== before[index]?.nanos);
}

function equalRequirements(one: ResourceRequirements = {}, other: ResourceRequirements = {}): boolean {
  return (
    equalQuantities(one.requests, other.requests) &&
    equalQuantities(one.limits, other.limits) &&
    equalJson(one.claims ?? [], other.claims ?? [])
  );
}

function equalQuantities(one: ResourceList = {}, other: ResourceList = {}): boolean {
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && equalQuantity(one[name], other[name]))
  );
}

function equalQuantity(one: string | undefined, other: string | undefined): boolean {
  if (one === other || one === undefined || other === undefined) return one === other;
  return compareQuantity(parseQuantity(one), parseQuantity(other)) === 0;
}
