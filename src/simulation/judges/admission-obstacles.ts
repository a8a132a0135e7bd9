/** The obstacles to a pod's admission, by the specs of all pods alone. The judges compare the agent's accounts with them. */
import { resourceAmount } from '../../agent/policies/admission/used-resources.ts';
import { hostPorts } from '../../agent/policies/network/port-mappings.ts';
import { parseQuantity } from '../../agent/policies/formats/quantity.ts';
import { podRequest } from '../../agent/policies/pod/resources.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';

type Allocatable = NodeFacts['allocatable'];

/** The resources that all simulated pods may request. */
const RESOURCES = ['pods', 'cpu', 'memory'];

/** With the devices that it asks for. Resources that the node does not have are left out. */
function resourcesOf({ spec }: Pod, allocatable: Allocatable): readonly string[] {
  const all = [...spec.containers, ...(spec.initContainers ?? [])];
  const names = new Set(all.flatMap(({ resources }) => Object.keys(resources?.requests ?? {})));
  return [...RESOURCES, ...[...names].filter((name) => name.includes('/') && name in allocatable)];
}

/** The resources of which the node has not enough left for the pod beside the others. */
export function insufficientResources(pod: Pod, others: readonly Pod[], allocatable: Allocatable): string[] {
  return resourcesOf(pod, allocatable).filter((resource) => {
    const wanted = amount(pod, resource);
    const used = others.reduce((sum, other) => sum + amount(other, resource), 0);
    return (
      wanted > 0 && used + wanted > resourceAmount(resource, parseQuantity(allocatable[resource] ?? '0'))
    );
  });
}

/** The resources of which the pod requests more than before. */
export function grownResources(before: Pod, after: Pod): string[] {
  return RESOURCES.filter((resource) => amount(after, resource) > amount(before, resource));
}

/** The host ports of the pod that another pod has. Simulated pods take their host ports at every address. */
export function takenPorts(pod: Pod, others: readonly Pod[]): number[] {
  const taken = new Set(others.flatMap(portsOf));
  return portsOf(pod).filter((port) => taken.has(port));
}

/** Insufficient resources and taken ports: `cpu`, `port 8080`. */
export function admissionObstacles(pod: Pod, others: readonly Pod[], allocatable: Allocatable): string[] {
  const ports = takenPorts(pod, others).map((port) => `port ${String(port)}`);
  return [...insufficientResources(pod, others, allocatable), ...ports];
}

function amount(pod: Pod, resource: string): number {
  return resource === 'pods' ? 1 : resourceAmount(resource, podRequest(pod, resource));
}

function portsOf({ spec }: Pod): number[] {
  return hostPorts(spec).map(({ hostPort }) => hostPort);
}
