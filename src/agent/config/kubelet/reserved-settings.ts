/** Rows of the node's settings about which cgroups are limited to what is reserved. */
import { StateletError } from '../../../types/errors.ts';
import type {
  MemoryReservationPolicy,
  MemorySettings,
  NodeSettings,
  ReservedSettings,
  SwapBehavior,
} from '../../../types/node-settings.ts';
import { flagOrNot, type Kind, list, number, type Setting, text } from '../setting.ts';

export const RESERVED_SETTINGS: {
  readonly [Name in keyof ReservedSettings]: Setting<ReservedSettings[Name]>;
} = {
  enforceNodeAllocatable: {
    flag: '--enforce-node-allocatable <LIST>',
    field: 'enforceNodeAllocatable',
    default: ['pods'],
    kind: list,
    description:
      'which cgroups are limited: pods to what is allocatable, others to what is reserved for them; none',
  },
  kubeReservedCgroup: {
    flag: '--kube-reserved-cgroup <GROUP>',
    field: 'kubeReservedCgroup',
    default: '',
    kind: text,
    description: 'cgroup, or slice, of daemons of Kubernetes; it must exist',
  },
  systemReservedCgroup: {
    flag: '--system-reserved-cgroup <GROUP>',
    field: 'systemReservedCgroup',
    default: '',
    kind: text,
    description: 'cgroup, or slice, of other daemons; it must exist',
  },
};

const SYSTEM = ['system-reserved', 'system-reserved-compressible'] as const;
const KUBE = ['kube-reserved', 'kube-reserved-compressible'] as const;
const OPTIONS: readonly string[] = ['pods', ...SYSTEM, ...KUBE, 'none'];
const FIELD = 'enforceNodeAllocatable (--enforce-node-allocatable)';

/** Throws `InvalidArgument`, in the kubelet's words. `isGiven`: the list is not the default, which asks nothing of other settings. */
export function checkReservedSettings(settings: NodeSettings, isGiven: boolean, fileName: string): void {
  const problem = problemOf(settings, isGiven);
  if (problem === undefined) return;
  throw new StateletError('InvalidArgument', `${fileName}: invalid configuration: ${problem}`);
}

function problemOf(
  { enforceNodeAllocatable: all, kubeReservedCgroup, systemReservedCgroup, cgroupsPerQOS }: NodeSettings,
  isGiven: boolean,
): string | undefined {
  const has = (keys: readonly string[]) => keys.filter((key) => all.includes(key));
  const unknown = all.find((key) => !OPTIONS.includes(key));
  if (unknown !== undefined) {
    const options = OPTIONS.map((key) => `"${key}"`).join(', ');
    return `option "${unknown}" specified for ${FIELD}. Valid options are ${options}`;
  }
  const twice = all.find((key, index) => all.indexOf(key) !== index);
  if (twice !== undefined) return `duplicated enforcements "${twice}" in ${FIELD}`;
  for (const [first, second] of [SYSTEM, KUBE]) {
    if (has([first, second]).length === 2) {
      return `both "${first}" and "${second}" cannot be specified together in ${FIELD}`;
    }
  }
  if (has(SYSTEM).length > 0 && systemReservedCgroup === '') {
    return missing('systemReservedCgroup (--system-reserved-cgroup)', SYSTEM);
  }
  if (has(KUBE).length > 0 && kubeReservedCgroup === '') {
    return missing('kubeReservedCgroup (--kube-reserved-cgroup)', KUBE);
  }
  if (all.includes('none')) {
    const alone = `${FIELD} may not contain additional enforcements when "none" is specified`;
    return all.length > 1 ? alone : undefined;
  }
  if (cgroupsPerQOS || !isGiven || all.length === 0) return undefined;
  return `cgroupsPerQOS (--cgroups-per-qos) must be set to true when "${all[0] ?? ''}" contained in ${FIELD}`;
}

function missing(setting: string, [whole, compressible]: readonly [string, string]): string {
  return `${setting} must be specified when "${whole}" or "${compressible}" included in ${FIELD}`;
}

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
