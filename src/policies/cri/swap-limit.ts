/** How much swap a container may use, on cgroup v2. */
import type { Container, EphemeralContainer, Pod } from '../../types/kubernetes.ts';
import type { SwapBehavior } from '../../types/node-settings.ts';
import { parseQuantity, quantityValue } from '../formats/quantity.ts';
import { isCriticalPod } from '../pod/pod-kinds.ts';
import { podQOS } from '../pod/qos.ts';
import type { ResourceList } from '../pod/resources.ts';

export interface SwapFacts {
  /** Default: containers use none. */
  readonly swapBehavior?: SwapBehavior;
  /** Of the machine. */
  readonly memoryCapacityBytes: number;
  readonly swapCapacityBytes: number;
}

/**
 * In bytes, 0 for none. With LimitedSwap a container may use as large a part of the swap as it requests of the memory, but only in a
 * Burstable pod that is not critical, and if it may use more memory than it requests. Throws what `parseQuantity` throws.
 */
export function swapLimit(
  pod: Pod,
  { resources }: Container | EphemeralContainer,
  { swapBehavior, memoryCapacityBytes, swapCapacityBytes }: SwapFacts,
): number {
  if (swapBehavior !== 'LimitedSwap' || isCriticalPod(pod) || podQOS(pod) !== 'Burstable') return 0;
  const request = memoryIn(resources?.requests);
  // Equal as well where a container has neither.
  if (request === memoryIn(resources?.limits)) return 0;
  if (memoryCapacityBytes <= 0 || request > memoryCapacityBytes) return 0;
  return Math.trunc((request / memoryCapacityBytes) * swapCapacityBytes);
}

function memoryIn(list: ResourceList | undefined): number {
  return list?.memory === undefined ? 0 : Number(quantityValue(parseQuantity(list.memory)));
}
