/** What a container has, as its status shows it. */
import type { ResourceRequirements } from '../../../types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimeLimits } from '../../../types/runtime-pod.ts';
import { milliCPUToShares } from '../cgroups/cgroup-resources.ts';
import { milliValue, parseQuantity, quantityString, quantityValue } from '../formats/quantity.ts';
import type { ResourceList } from '../pod/resources.ts';

/** Requests and limits of CPU up to these are rounded up by the kernel, so that what is reported says nothing. */
const REQUEST_MIN_MILLI = 2;
const LIMIT_MIN_MILLI = 10;

/**
 * What has been allocated, with the CPU and memory that a running container has by now: as the runtime reports it, else as it was told
 * last. Memory requests are no limit of a cgroup: no runtime reports them.
 */
export function actualResources(
  allocated: ResourceRequirements,
  { state, given, limits }: RuntimeContainerStatus,
): ResourceRequirements {
  if (state !== 'running') return allocated;
  const requests = taken(allocated.requests, given?.container.requests);
  const told = taken(allocated.limits, given?.container.limits);
  return {
    ...allocated,
    ...(requests && { requests: { ...requests, ...(limits && reportedRequests(limits, requests)) } }),
    ...(told && { limits: { ...told, ...(limits && reportedLimits(limits, told)) } }),
  };
}

/** Of CPU and memory what it was told to have; other resources do not change. */
function taken(
  allocated: ResourceList | undefined,
  told: ResourceList | undefined,
): ResourceList | undefined {
  if (allocated === undefined) return undefined;
  const { cpu, memory } = allocated;
  return {
    ...allocated,
    ...(cpu !== undefined && { cpu: told?.cpu ?? cpu }),
    ...(memory !== undefined && { memory: told?.memory ?? memory }),
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
