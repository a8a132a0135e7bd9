/** Rows of the node's settings about the memory of containers. */
import { StateletError } from '../types/errors.ts';
import type { MemoryReservationPolicy, MemorySettings, SwapBehavior } from '../types/node-settings.ts';
import { flagOrNot, type Kind, number, type Setting, text } from './setting.ts';

const SWAP_BEHAVIORS: readonly string[] = ['', 'NoSwap', 'LimitedSwap'];
const RESERVATION_POLICIES: readonly string[] = ['None', 'TieredReservation'];

export const MEMORY_SETTINGS: { readonly [Name in keyof MemorySettings]: Setting<MemorySettings[Name]> } = {
  singleProcessOOMKill: {
    field: 'singleProcessOOMKill',
    default: undefined,
    kind: flagOrNot as Kind<boolean | undefined>,
    description: 'whether the kernel kills one process of a container that is out of memory, not all',
  },
  swapBehavior: {
    field: 'memorySwap.swapBehavior',
    default: '',
    kind: text as Kind<SwapBehavior>,
    description: 'whether containers may use swap',
    problem: (value) => (SWAP_BEHAVIORS.includes(value) ? undefined : 'NoSwap or LimitedSwap'),
  },
  memoryQoS: {
    field: 'featureGates.MemoryQoS',
    default: false,
    kind: flagOrNot,
    description: 'whether cgroup v2 keeps memory for pods, and slows containers down before their limit',
  },
  memoryThrottlingFactor: {
    field: 'memoryThrottlingFactor',
    default: 0.9,
    kind: number,
    description: 'the part of the way from request to limit at which containers are slowed down',
    problem: (value) => (value > 0 && value <= 1 ? undefined : 'greater than 0, and at most 1'),
  },
  memoryReservationPolicy: {
    field: 'memoryReservationPolicy',
    default: 'None',
    kind: text as Kind<MemoryReservationPolicy>,
    description: 'whether the kernel keeps the memory that pods request for them',
    problem: (value) =>
      RESERVATION_POLICIES.includes(value) ? undefined : `one of ${RESERVATION_POLICIES.join(', ')}`,
  },
};

/** Throws `InvalidArgument` where one setting needs another. */
export function checkMemorySettings(
  { memoryQoS, memoryReservationPolicy }: MemorySettings,
  fileName: string,
): void {
  if (memoryQoS || memoryReservationPolicy === 'None') return;
  const rule = 'needs the feature gate MemoryQoS: set featureGates.MemoryQoS to true';
  throw new StateletError(
    'InvalidArgument',
    `${fileName}: memoryReservationPolicy: ${memoryReservationPolicy} ${rule}`,
  );
}
