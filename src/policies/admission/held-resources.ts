/** What of a node is in use: as much as admission has to know of the pods that are there. */
import type { PortMapping } from '../../types/cri.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { hostPorts } from '../network/port-mappings.ts';
import { milliValue, type Quantity, quantityValue } from '../formats/quantity.ts';
import { podRequest } from '../pod/resources.ts';

export interface HeldResources {
  readonly pods: number;
  /** The sum of the requests. Of `cpu` in thousandths, of all others in whole units. */
  amount(resource: string): number;
  /** Who uses the port of that number, whatever the protocol and the address. */
  portsOf(hostPort: number): readonly PortMapping[];
}

export const NOTHING_HELD: HeldResources = { pods: 0, amount: () => 0, portsOf: () => [] };

/** What these pods hold, summed up when asked. Its questions throw what `parseQuantity` throws. */
export function heldBy(pods: readonly Pod[]): HeldResources {
  return {
    pods: pods.length,
    amount: (resource) =>
      pods.reduce((sum, pod) => sum + countedAmount(resource, podRequest(pod, resource)), 0),
    portsOf: (number) =>
      pods.flatMap(({ spec }) => hostPorts(spec).filter(({ hostPort }) => hostPort === number)),
  };
}

/** As admission counts it. Exact up to 2^53: 9 PB. */
export function countedAmount(resource: string, quantity: Quantity): number {
  return Number(resource === 'cpu' ? milliValue(quantity) : quantityValue(quantity));
}
