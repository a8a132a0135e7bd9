/** How the node's settings and its machine decide about the memory of containers. */
import { StateletError } from '../../../types/errors.ts';
import type { MemorySettings } from '../../../types/node-settings.ts';
import type { MemoryQoS } from '../cgroups/memory-qos.ts';
import { parseQuantity, quantityValue } from '../formats/quantity.ts';
import type { ResourceList } from '../pod/resources.ts';
import type { ContainerResourceFacts } from './linux-resources.ts';

export interface MemoryMachine {
  readonly cgroupVersion: 1 | 2;
  readonly pageSizeBytes: number;
  /** What all pods together may use. */
  readonly allocatable: ResourceList;
}

/** Throws InvalidArgument for a setting that this version of cgroups cannot keep. */
export function memoryFacts(
  settings: MemorySettings,
  { cgroupVersion, pageSizeBytes, allocatable }: MemoryMachine,
): Pick<ContainerResourceFacts, 'singleProcessOOMKill' | 'swapBehavior' | 'memoryQoS'> {
  const { singleProcessOOMKill, swapBehavior } = settings;
  const isV2 = cgroupVersion === 2;
  if (!isV2 && singleProcessOOMKill === false) throw onlyOneProcess();
  const memoryQoS = isV2 ? memoryQoSOf(settings) : undefined;
  const allocatableBytes = Number(quantityValue(parseQuantity(allocatable.memory ?? '0')));
  return {
    swapBehavior,
    singleProcessOOMKill,
    ...(memoryQoS && { memoryQoS: { ...memoryQoS, allocatableBytes, pageSizeBytes } }),
  };
}

/** Undefined where the feature is off. */
export function memoryQoSOf(settings: MemorySettings): MemoryQoS | undefined {
  const { memoryQoS, memoryThrottlingFactor, memoryReservationPolicy } = settings;
  if (!memoryQoS) return undefined;
  return { throttlingFactor: memoryThrottlingFactor, reservationPolicy: memoryReservationPolicy };
}

/** Sentences about settings that have no effect with this version of cgroups. */
export function memorySettingsWithoutEffect(
  { swapBehavior, memoryQoS }: MemorySettings,
  cgroupVersion: 1 | 2,
): readonly string[] {
  if (cgroupVersion === 2) return [];
  return [
    ...(swapBehavior === 'LimitedSwap'
      ? [
          'memorySwap.swapBehavior: LimitedSwap needs cgroup v2; on this machine, with cgroup v1, containers use no swap',
        ]
      : []),
    ...(memoryQoS ? ['featureGates.MemoryQoS has no effect on this machine: it needs cgroup v2'] : []),
  ];
}

function onlyOneProcess(): StateletError {
  const message =
    'singleProcessOOMKill: must not be false on this machine: with cgroup v1 the kernel kills one process at a time; leave it out';
  return new StateletError('InvalidArgument', message);
}
