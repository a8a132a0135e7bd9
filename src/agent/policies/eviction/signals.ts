/** The eviction signals, the resource that each is about, and the node condition that each leads to. */

/** How much is left of a resource: the kubelet's signals. */
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
 * For how much of the time tasks wait for memory or disks, as the kernel averages it over ten seconds (pressure stall information):
 * `some` tasks, or all that have work to do (`full`). The kubelet has no such signals.
 */
export type PressureSignal = `${'memory' | 'io'}.pressure.${'some' | 'full'}.avg10`;

export type EvictionSignal = ResourceSignal | PressureSignal;

/** A resource that is short, as events and statuses name it. Pods cannot request `inodes`, `pids` and `io`. */
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
/** DiskPressure, because a new pod would wait for the disks as well. */
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

/** In the order of a node's status. */
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

/** The resource that is short if the signal is low; undefined for a signal without a resource that can be reclaimed. */
export function starvedResource(signal: string): StarvedResource | undefined {
  return isEvictionSignal(signal) ? SIGNALS[signal].resource : undefined;
}

export function pressureCondition(signal: string): PressureCondition | undefined {
  return isEvictionSignal(signal) ? SIGNALS[signal].condition : undefined;
}
