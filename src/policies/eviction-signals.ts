/** What eviction watches: the signals, the resource that stands behind each, the node condition that each leads to. */

export type EvictionSignal =
  | 'memory.available'
  | 'allocatableMemory.available'
  | 'nodefs.available'
  | 'nodefs.inodesFree'
  | 'imagefs.available'
  | 'imagefs.inodesFree'
  | 'containerfs.available'
  | 'containerfs.inodesFree'
  | 'pid.available';

/** What a node runs short of, as events and statuses name it. `inodes` and `pids` are nothing that a pod can request. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

export type PressureCondition = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

interface SignalMeaning {
  readonly resource: StarvedResource;
  readonly condition: PressureCondition;
}

const MEMORY: SignalMeaning = { resource: 'memory', condition: 'MemoryPressure' };
const DISK: SignalMeaning = { resource: 'ephemeral-storage', condition: 'DiskPressure' };
const INODES: SignalMeaning = { resource: 'inodes', condition: 'DiskPressure' };
const PIDS: SignalMeaning = { resource: 'pids', condition: 'PIDPressure' };

const SIGNALS: Readonly<Record<EvictionSignal, SignalMeaning>> = {
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

/** In the order in which a node tells of them. */
export const PRESSURE_CONDITIONS: readonly PressureCondition[] = [
  'MemoryPressure',
  'DiskPressure',
  'PIDPressure',
];

export function isEvictionSignal(name: string): name is EvictionSignal {
  return Object.hasOwn(SIGNALS, name);
}

/** What runs short where the signal is low. A signal may have nothing behind it that could be reclaimed. */
export function starvedResource(signal: string): StarvedResource | undefined {
  return isEvictionSignal(signal) ? SIGNALS[signal].resource : undefined;
}

export function pressureCondition(signal: string): PressureCondition | undefined {
  return isEvictionSignal(signal) ? SIGNALS[signal].condition : undefined;
}
