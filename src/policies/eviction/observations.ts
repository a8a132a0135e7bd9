/** The values of the eviction signals, from a summary of the node. */
import type { FsStats, MemoryStats, NodeStats, RlimitStats, Summary } from '../../types/stats.ts';
import { PRESSURE_SIGNALS, pressureSource, timeLeft, WHOLE_TIME } from './pressure-settings.ts';
import type { EvictionSignal, PressureSignal } from './signals.ts';
import type { Quantity, QuantityFormat } from '../formats/quantity.ts';
import { unixMs } from '../formats/time.ts';

export interface Observation {
  readonly available: Quantity;
  readonly capacity: Quantity;
  /** When it was measured; undefined if that is not known. */
  readonly timeMs: number | undefined;
}

/** Signals whose figures are not complete are left out. */
export type Observations = ReadonlyMap<EvictionSignal, Observation>;

/** The system container that stands for all pods together. */
const ALL_PODS = 'pods';

export function observe({ node }: Summary): Observations {
  const pods = node.systemContainers?.find(({ name }) => name === ALL_PODS);
  return new Map([
    ...memory('memory.available', node.memory),
    ...memory('allocatableMemory.available', pods?.memory),
    ...space('nodefs.available', node.fs),
    ...inodes('nodefs.inodesFree', node.fs),
    ...space('imagefs.available', node.runtime?.imageFs),
    ...inodes('imagefs.inodesFree', node.runtime?.imageFs),
    ...space('containerfs.available', node.runtime?.containerFs),
    ...inodes('containerfs.inodesFree', node.runtime?.containerFs),
    ...processes('pid.available', node.rlimit),
    ...PRESSURE_SIGNALS.flatMap((signal) => pressure(signal, node)),
  ]);
}

type Entry = [EvictionSignal, Observation];

function memory(signal: EvictionSignal, stats: MemoryStats | undefined): Entry[] {
  const { availableBytes, workingSetBytes, time } = stats ?? {};
  if (availableBytes === undefined || workingSetBytes === undefined) return [];
  const [available, used] = [BigInt(availableBytes), BigInt(workingSetBytes)];
  return [[signal, observation(available, available + used, 'BinarySI', time)]];
}

function space(signal: EvictionSignal, stats: FsStats | undefined): Entry[] {
  const { availableBytes, capacityBytes, time } = stats ?? {};
  if (availableBytes === undefined || capacityBytes === undefined) return [];
  return [[signal, observation(BigInt(availableBytes), BigInt(capacityBytes), 'BinarySI', time)]];
}

function inodes(signal: EvictionSignal, stats: FsStats | undefined): Entry[] {
  const { inodesFree, inodes: all, time } = stats ?? {};
  if (inodesFree === undefined || all === undefined) return [];
  return [[signal, observation(BigInt(inodesFree), BigInt(all), 'DecimalSI', time)]];
}

function processes(signal: EvictionSignal, stats: RlimitStats | undefined): Entry[] {
  const { maxpid, curproc, time } = stats ?? {};
  if (maxpid === undefined || curproc === undefined) return [];
  return [[signal, observation(BigInt(maxpid) - BigInt(curproc), BigInt(maxpid), 'DecimalSI', time)]];
}

function pressure(signal: PressureSignal, node: NodeStats): Entry[] {
  const { resource, kind } = pressureSource(signal);
  const { psi, time } = node[resource] ?? {};
  const waited = psi?.[kind]?.avg10;
  if (waited === undefined) return [];
  return [[signal, { available: timeLeft(waited), capacity: WHOLE_TIME, timeMs: timeMsOf(time) }]];
}

function observation(
  available: bigint,
  capacity: bigint,
  format: QuantityFormat,
  time: string | undefined,
): Observation {
  return {
    available: wholeQuantity(available, format),
    capacity: wholeQuantity(capacity, format),
    timeMs: timeMsOf(time),
  };
}

function timeMsOf(time: string | undefined): number | undefined {
  const timeMs = time === undefined ? NaN : unixMs(time);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

export function wholeQuantity(value: bigint, format: QuantityFormat): Quantity {
  return { nanos: value * 10n ** 9n, format };
}
