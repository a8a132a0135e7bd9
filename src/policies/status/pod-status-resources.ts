/** The resources of a pod as a whole in its status, containers and overhead included. */
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import { quantityString } from '../formats/quantity.ts';
import { podLimits, podRequests, type ResourceList, type ResourceQuantities } from '../pod/resources.ts';

/** Empty for a pod without requests and limits. All are those of the spec: resources of a running pod never change here. */
export function podStatusResources(pod: Pod): Pick<PodStatus, 'allocatedResources' | 'resources'> {
  const [requests, limits] = [written(podRequests(pod)), written(podLimits(pod))];
  if (requests === undefined && limits === undefined) return {};
  return {
    ...(requests && { allocatedResources: requests }),
    resources: { ...(requests && { requests }), ...(limits && { limits }) },
  };
}

function written(quantities: ResourceQuantities): ResourceList | undefined {
  if (quantities.size === 0) return undefined;
  return Object.fromEntries(Array.from(quantities, ([name, quantity]) => [name, quantityString(quantity)]));
}
