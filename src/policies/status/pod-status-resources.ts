/** The resources of a pod as a whole in its status, containers and overhead included. */
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import { quantityString } from '../formats/quantity.ts';
import { podLimits, podRequests, type ResourceList, type ResourceQuantities } from '../pod/resources.ts';

/** `resources` is there also without requests and limits, as with the kubelet. All are those of the spec: resources of a running pod never change here. */
export function podStatusResources(pod: Pod): Pick<PodStatus, 'allocatedResources' | 'resources'> {
  const [requests, limits] = [written(podRequests(pod)), written(podLimits(pod))];
  return {
    ...(requests && { allocatedResources: requests }),
    resources: { ...(requests && { requests }), ...(limits && { limits }) },
  };
}

function written(quantities: ResourceQuantities): ResourceList | undefined {
  if (quantities.size === 0) return undefined;
  return Object.fromEntries(Array.from(quantities, ([name, quantity]) => [name, quantityString(quantity)]));
}
