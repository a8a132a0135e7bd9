/** What the API shows of a pod's resources as a whole, containers and overhead included. */
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import { quantityString } from '../formats/quantity.ts';
import { podLimits, podRequests, type ResourceList, type ResourceQuantities } from '../pod/resources.ts';

/** Nothing for a pod that asks for nothing. Nothing changes the resources of a pod that runs: it has those of its spec. */
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
