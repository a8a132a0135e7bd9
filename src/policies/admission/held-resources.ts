/** How much of a node's resources its pods hold, as far as admission needs to know. */
import type { PortMapping } from '../../types/cri.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { hostPorts } from '../network/port-mappings.ts';
import { milliValue, type Quantity, quantityValue } from '../formats/quantity.ts';
import { podRequest } from '../pod/resources.ts';

export interface HeldResources {
  readonly pods: number;
  /** The sum of the requests. Of `cpu` in thousandths, of all others in whole units. */
  amount(resource: string): number;
  /** The mappings that use the node's port of that number, of every protocol and address. */
  portsOf(hostPort: number): readonly PortMapping[];
}

export const NOTHING_HELD: HeldResources = { pods: 0, amount: () => 0, portsOf: () => [] };

/** What these pods hold, summed up at each call. The methods throw what `parseQuantity` throws. */
export function heldBy(pods: readonly Pod[]): HeldResources {
  return {
    pods: pods.length,
    amount: (resource) =>
      pods.reduce((sum, pod) => sum + countedAmount(resource, podRequest(pod, resource)), 0),
    portsOf: (number) =>
      pods.flatMap(({ spec }) => hostPorts(spec).filter(({ hostPort }) => hostPort === number)),
  };
}

/** Thousandths of `cpu`, whole units of all other resources, rounded up. Exact up to 2^53: 9 PB. */
export function countedAmount(resource: string, quantity: Quantity): number {
  return Number(resource === 'cpu' ? milliValue(quantity) : quantityValue(quantity));
}
