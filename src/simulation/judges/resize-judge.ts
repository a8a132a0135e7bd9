/** Checks that pods have the resources for which their specs ask, or that the node says why not. */
import {
  compareQuantity,
  parseQuantity,
  milliValue,
  quantityValue,
} from '../../agent/policies/formats/quantity.ts';
import { amountIn } from '../../agent/policies/pod/resources.ts';
import type { LinuxContainerResources } from '../../types/cri.ts';
import type { Container, Pod, PodStatus } from '../../types/kubernetes.ts';

/** What the runtime has of a container that runs. */
type Has = (name: string) => Pick<LinuxContainerResources, 'cpuShares' | 'memoryLimitInBytes'> | undefined;

/** Once nothing happens on the node any more. `fits`: whether there is room for all that the pod requests. */
export function whyUnresized(
  pod: Pod,
  status: PodStatus | undefined,
  has: Has,
  fits: () => boolean,
): string | undefined {
  const conditions = status?.conditions ?? [];
  const pending = conditions.find(({ type }) => type === 'PodResizePending');
  if (conditions.some(({ type }) => type === 'PodResizeInProgress'))
    return 'is said to be resized, and nothing happens';
  const other = pod.spec.containers.find((container) => hasOther(container, has(container.name)));
  if (other === undefined)
    return pending && isGranted(pod, status) ? 'is said to wait for its resize, and has all' : undefined;
  if (pending === undefined) return `its container ${other.name} has other resources, and nothing says why`;
  return pending.reason === 'Deferred' && fits() ? 'waits for a resize for which there is room' : undefined;
}

/** A request for memory alone does not show in the runtime: the node says what it has granted. */
function isGranted({ spec }: Pod, status: PodStatus | undefined): boolean {
  return spec.containers.every(({ name, resources }) => {
    const { allocatedResources } = status?.containerStatuses?.find((one) => one.name === name) ?? {};
    return ['cpu', 'memory'].every(
      (resource) =>
        compareQuantity(amountIn(resources?.requests, resource), amountIn(allocatedResources, resource)) ===
        0,
    );
  });
}

function hasOther({ resources }: Container, has: ReturnType<Has>): boolean {
  if (has === undefined) return false;
  const { requests, limits } = resources ?? {};
  const milliCPU = Number(milliValue(parseQuantity(requests?.cpu ?? limits?.cpu ?? '0')));
  const memoryBytes = Number(quantityValue(parseQuantity(limits?.memory ?? '0')));
  const shares = Math.max(2, Math.floor((milliCPU * 1024) / 1000));
  return has.cpuShares !== shares || has.memoryLimitInBytes !== memoryBytes;
}
