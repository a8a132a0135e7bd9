/** What pods take of a node, reckoned from their specs alone: the agent's own books are what this is held against. */
import { countedAmount } from '../../policies/admission/held-resources.ts';
import { hostPorts } from '../../policies/network/port-mappings.ts';
import { parseQuantity } from '../../policies/formats/quantity.ts';
import { podRequest } from '../../policies/pod/resources.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';

type Allocatable = NodeFacts['allocatable'];

/** What simulated pods request. */
const RESOURCES = ['pods', 'cpu', 'memory'];

/** The resources of which there is not enough for the pod beside the others. */
export function shortResources(pod: Pod, others: readonly Pod[], allocatable: Allocatable): string[] {
  return RESOURCES.filter((resource) => {
    const wanted = amount(pod, resource);
    const used = others.reduce((sum, other) => sum + amount(other, resource), 0);
    return wanted > 0 && used + wanted > countedAmount(resource, parseQuantity(allocatable[resource] ?? '0'));
  });
}

/** The ports of the node that the pod wants and one of the others has. Simulated pods want them at every address. */
export function takenPorts(pod: Pod, others: readonly Pod[]): number[] {
  const taken = new Set(others.flatMap(portsOf));
  return portsOf(pod).filter((port) => taken.has(port));
}

/** All that stands in the pod's way: `cpu`, `port 8080`. */
export function shortages(pod: Pod, others: readonly Pod[], allocatable: Allocatable): string[] {
  const ports = takenPorts(pod, others).map((port) => `port ${String(port)}`);
  return [...shortResources(pod, others, allocatable), ...ports];
}

function amount(pod: Pod, resource: string): number {
  return resource === 'pods' ? 1 : countedAmount(resource, podRequest(pod, resource));
}

function portsOf({ spec }: Pod): number[] {
  return hostPorts(spec).map(({ hostPort }) => hostPort);
}
