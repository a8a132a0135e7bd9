/** Which processes the kernel kills first when the node runs out of memory. */
import type { Container, EphemeralContainer, Pod } from '../../types/kubernetes.ts';
import { isNodeCriticalPod } from '../pod/pod-kinds.ts';
import { podQOS } from '../pod/qos.ts';
import { parseQuantity, quantityValue, ZERO_QUANTITY } from '../formats/quantity.ts';
import { podRequests } from '../pod/resources.ts';
import { isRestartableInitContainer } from '../pod-actions/restart.ts';
import { named } from '../formats/lookups.ts';

type AnyContainer = Container | EphemeralContainer;

const GUARANTEED = -997;
const BEST_EFFORT = 1000;
/** A Guaranteed container that uses all memory has a score of 3. No Burstable container may have a lower one. */
const BURSTABLE_MIN = 1000 + GUARANTEED;
const BURSTABLE_MAX = BEST_EFFORT - 1;

/**
 * The `oom_score_adj` of a container's processes: those with a high score are killed first. A Burstable container has a lower
 * score the more of the node's memory it requests. Throws what `parseQuantity` throws.
 */
export function oomScoreAdj(pod: Pod, container: AnyContainer, memoryCapacityBytes: number): number {
  if (isNodeCriticalPod(pod)) return GUARANTEED;
  switch (podQOS(pod)) {
    case 'Guaranteed':
      return GUARANTEED;
    case 'BestEffort':
      return BEST_EFFORT;
    case 'Burstable': {
      const share = (1000n * protectedBytes(pod, container)) / BigInt(Math.max(memoryCapacityBytes, 1));
      return Math.min(Math.max(1000 - Number(share), BURSTABLE_MIN), BURSTABLE_MAX);
    }
  }
}

/** The container's request, and its share of the pod's own request beyond those of its containers. */
function protectedBytes(pod: Pod, container: AnyContainer): bigint {
  const own = requestBytes(container);
  const least = isSidecar(pod, container) ? leastRequestBytes(pod.spec.containers) : 0n;
  // A sidecar must not be killed before the containers that it serves.
  return (least > own ? least : own) + sharedBytes(pod);
}

function sharedBytes(pod: Pod): bigint {
  const { resources, containers, initContainers = [] } = pod.spec;
  const ofPod = bytes(resources?.requests?.memory);
  if (ofPod === 0n) return 0n;
  const withoutItsOwn: Pod = { ...pod, spec: { ...pod.spec, resources: {} } };
  const ofContainers = podRequests(withoutItsOwn, { excludeOverhead: true }).get('memory') ?? ZERO_QUANTITY;
  return (ofPod - quantityValue(ofContainers)) / BigInt(containers.length + initContainers.length);
}

function isSidecar({ spec }: Pod, container: AnyContainer): boolean {
  const own = named(spec.initContainers ?? [], container.name);
  return own !== undefined && isRestartableInitContainer(own);
}

function leastRequestBytes(containers: readonly Container[]): bigint {
  const [first = 0n, ...others] = containers.map(requestBytes);
  return others.reduce((least, request) => (request < least ? request : least), first);
}

function requestBytes({ resources }: AnyContainer): bigint {
  return bytes(resources?.requests?.memory);
}

function bytes(amount: string | undefined): bigint {
  return amount === undefined ? 0n : quantityValue(parseQuantity(amount));
}
