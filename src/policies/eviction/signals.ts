/** What eviction watches: the signals, the resource that stands behind each, the node condition that each leads to. */

/** How much is left of something: the kubelet's. */
export type ResourceSignal =
  | 'memory.available'
  | 'allocatableMemory.available'
  | 'nodefs.available'
  | 'nodefs.inodesFree'
  | 'imagefs.available'
  | 'imagefs.inodesFree'
  | 'containerfs.available'
  | 'containerfs.inodesFree'
  | 'pid.available';

/** How much memory is left: of the machine, and of what pods may have together. */
export type MemorySignal = Extract<ResourceSignal, 'memory.available' | 'allocatableMemory.available'>;

/**
 * For how much of the time tasks wait for something, as the kernel averages it over ten seconds (pressure stall information):
 * `some` of them, or all that could do anything at all. The kubelet has no such signals.
 */
export type PressureSignal = `${'memory' | 'io'}.pressure.${'some' | 'full'}.avg10`;

export type EvictionSignal = ResourceSignal | PressureSignal;

/** What a node runs short of, as events and statuses name it. `inodes`, `pids` and `io` are nothing that a pod can request. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids' | 'io';

export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

interface SignalMeaning {
  readonly resource: StarvedResource;
  readonly condition: PressureCondition;
}

const MEMORY: SignalMeaning = { resource: 'memory', condition: 'MemoryPressure' };
const DISK: SignalMeaning = { resource: 'ephemeral-storage', condition: 'DiskPressure' };
const INODES: SignalMeaning = { resource: 'inodes', condition: 'DiskPressure' };
const PIDS: SignalMeaning = { resource: 'pids', condition: 'PIDPressure' };
/** Whoever comes to such a node would wait for its disks as well. */
const IO: SignalMeaning = { resource: 'io', condition: 'DiskPressure' };

const RESOURCE_SIGNALS: Readonly<Record<ResourceSignal, SignalMeaning>> = {
  'memory.available': MEMORY,
  'allocatableMemory.available': MEMORY,
  'nodefs.available': DISK,
  'nodefs.inodesFree': INODES,
  'imagefs.available': DISK,
  'imagefs.inodesFree': INODES,
  'containerfs.available': DISK,
  'containerfs.inodesFree': INODES,
  'pid.available': PIDS,
};

const PRESSURE_SIGNALS: Readonly<Record<PressureSignal, SignalMeaning>> = {
  'memory.pressure.some.avg10': MEMORY,
  'memory.pressure.full.avg10': MEMORY,
  'io.pressure.some.avg10': IO,
  'io.pressure.full.avg10': IO,
};

const SIGNALS: Readonly<Record<EvictionSignal, SignalMeaning>> = { ...RESOURCE_SIGNALS, ...PRESSURE_SIGNALS };

/** In the order in which a node tells of them. */
export const PRESSURE_CONDITIONS: readonly PressureCondition[] = [
  'MemoryPressure',
  'DiskPressure',
  'PIDPressure',
];

export function isResourceSignal(name: string): name is ResourceSignal {
  return Object.hasOwn(RESOURCE_SIGNALS, name);
}

export function isPressureSignal(name: string): name is PressureSignal {
  return Object.hasOwn(PRESSURE_SIGNALS, name);
}

function isEvictionSignal(name: string): name is EvictionSignal {
  return Object.hasOwn(SIGNALS, name);
}

/** What runs short where the signal is low. A signal may have nothing behind it that could be reclaimed. */
export function starvedResource(signal: string): StarvedResource | undefined {
  return isEvictionSignal(signal) ? SIGNALS[signal].resource : undefined;
}

export function pressureCondition(signal: string): PressureCondition | undefined {
  return isEvictionSignal(signal) ? SIGNALS[signal].condition : undefined;
}
