/** The resources of a container for its status. */
import type { ResourceRequirements } from '../../../types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimeLimits } from '../../../types/runtime-pod.ts';
import { milliCPUToShares } from '../cgroups/cgroup-resources.ts';
import { milliValue, parseQuantity, quantityString, quantityValue } from '../formats/quantity.ts';
import type { ResourceList } from '../pod/resources.ts';

/** The kernel rounds up CPU requests and limits to these values, so that reported values up to them mean nothing. */
const REQUEST_MIN_MILLI = 2;
const LIMIT_MIN_MILLI = 10;

/**
 * The allocated resources, with the CPU and memory that a running container has now: as the runtime reports them, else as the
 * agent has last set them. No runtime reports memory requests, since they are no limit of a cgroup.
 */
export function actualResources(
  allocated: ResourceRequirements,
  { state, given, limits }: RuntimeContainerStatus,
): ResourceRequirements {
  if (state !== 'running') return allocated;
  const requests = taken(allocated.requests, given?.container.requests);
  const known = taken(allocated.limits, given?.container.limits);
  return {
    ...allocated,
    ...(requests && { requests: { ...requests, ...(limits && reportedRequests(limits, requests)) } }),
    ...(known && { limits: { ...known, ...(limits && reportedLimits(limits, known)) } }),
  };
}

/** CPU and memory as the agent has last set them; other resources do not change. */
function taken(
  allocated: ResourceList | undefined,
  lastSet: ResourceList | undefined,
): ResourceList | undefined {
  if (allocated === undefined) return undefined;
  const { cpu, memory } = allocated;
  return {
    ...allocated,
    ...(cpu !== undefined && { cpu: lastSet?.cpu ?? cpu }),
    ...(memory !== undefined && { memory: lastSet?.memory ?? memory }),
  };
}

function reportedRequests({ cpuShares }: RuntimeLimits, { cpu }: ResourceList): ResourceList {
  const known = cpu === undefined ? 0n : milliValue(parseQuantity(cpu));
  if (cpuShares <= 0 || cpuShares === milliCPUToShares(known)) return {};
  const milli = Math.ceil((cpuShares * 1000) / 1024);
  const isSmall = milli <= REQUEST_MIN_MILLI && known <= BigInt(REQUEST_MIN_MILLI);
  return isSmall ? {} : { cpu: milliText(milli) };
}

function reportedLimits(
  { cpuLimitMilli, memoryLimitBytes }: RuntimeLimits,
  list: ResourceList,
): ResourceList {
  return {
    ...(isOther(cpuLimitMilli, list.cpu) && { cpu: milliText(cpuLimitMilli) }),
    ...(memoryLimitBytes !== undefined &&
      memoryLimitBytes !== Number(quantityValue(parseQuantity(list.memory ?? '0'))) && {
        memory: quantityString({ nanos: BigInt(memoryLimitBytes) * 1_000_000_000n, format: 'BinarySI' }),
      }),
  };
}

function isOther(milli: number | undefined, text: string | undefined): milli is number {
  if (milli === undefined) return false;
  const known = Number(milliValue(parseQuantity(text ?? '0')));
  return milli !== known && (milli > LIMIT_MIN_MILLI || known > LIMIT_MIN_MILLI);
}

function milliText(milli: number): string {
  return quantityString({ nanos: BigInt(milli) * 1_000_000n, format: 'DecimalSI' });
}
