import { farDistanceBytes, memoryWatchPeriodMs } from '../../policies/eviction/measurement-schedule.ts';
import { Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import { limitIn, machineMemoryUsage, memoryPaths, workingSet } from './memory-files.ts';
import { OpenFile, meminfoBytes, numberIn } from './small-files.ts';

export type MemorySignal = 'memory.available' | 'allocatableMemory.available';

export interface MemoryThreshold {
  readonly signal: MemorySignal;
  /** Less available memory than this is pressure. */
  readonly thresholdBytes: number;
}

export interface MemoryCrossing extends MemoryThreshold, MemoryAvailable {
  /** True if pressure begins, false if it ends. */
  readonly isBelow: boolean;
}

export interface MemoryWatchParts {
  readonly thresholds: readonly MemoryThreshold[];
  /** If more than `enoughBytes` are available, the answer may be too low, but not lower than that. */
  readonly available: (signal: MemorySignal, enoughBytes: number) => MemoryAvailable | undefined;
  readonly cpus: number;
  readonly onCrossed: (crossing: MemoryCrossing) => void;
}

/**
 * Calls `onCrossed` when available memory crosses a threshold, in either direction. A value that is below a threshold at the
 * beginning counts as a crossing. Node cannot wait for the kernel's notifications (the eventfd of cgroup v1, and priority
 * events of PSI triggers): the watch polls, the more often the nearer a threshold is.
 */
export class MemoryWatch {
  readonly #context: AgentContext;
  readonly #parts: MemoryWatchParts;
  readonly #below = new Set<MemoryThreshold>();
  readonly #before = new Map<MemorySignal, { readonly availableBytes: number; readonly atMs: number }>();
  readonly #timer: Timer;
  #stopped = false;

  constructor(context: AgentContext, parts: MemoryWatchParts) {
    this.#context = context;
    this.#parts = parts;
    this.#timer = new Timer(context.clock);
    this.#check();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer.disarm();
  }

  #check(): void {
    const { thresholds, cpus } = this.#parts;
    const readings = new Map(thresholds.map(({ signal }) => [signal, this.#read(signal)]));
    const seen = thresholds.flatMap((threshold) => {
      const reading = readings.get(threshold.signal);
      return reading ? [{ threshold, ...reading, ...threshold }] : [];
    });
    this.#timer.arm(memoryWatchPeriodMs(seen, cpus), () => this.#check());
    for (const { threshold, availableBytes, capacityBytes } of seen) {
      this.#judge(threshold, { availableBytes, capacityBytes });
    }
  }

  #read(signal: MemorySignal): (MemoryAvailable & { readonly fallBytesPerMs: number }) | undefined {
    const { thresholds, cpus, available } = this.#parts;
    const highest = Math.max(...thresholds.map(({ thresholdBytes }) => thresholdBytes));
    const reading = available(signal, highest + farDistanceBytes(cpus));
    if (reading === undefined) return undefined;
    const now = { availableBytes: reading.availableBytes, atMs: this.#context.clock.now() };
    const before = this.#before.get(signal) ?? now;
    this.#before.set(signal, now);
    const elapsedMs = Math.max(1, now.atMs - before.atMs);
    return { ...reading, fallBytesPerMs: (before.availableBytes - now.availableBytes) / elapsedMs };
  }

  #judge(threshold: MemoryThreshold, reading: MemoryAvailable): void {
    const isBelow = reading.availableBytes < threshold.thresholdBytes;
    if (this.#stopped || isBelow === this.#below.has(threshold)) return;
    if (isBelow) this.#below.add(threshold);
    else this.#below.delete(threshold);
    this.#parts.onCrossed({ ...threshold, ...reading, isBelow });
  }
}

/** Available memory, and the capacity that it is a part of. */
export interface MemoryAvailable {
  readonly availableBytes: number;
  readonly capacityBytes: number;
}

/** Reads how much memory is available. Its files stay open: a reading takes some ten microseconds. */
export interface MemoryGauge {
  /**
   * Undefined if the group is gone or has no limit. If more than `enoughBytes` are available, the answer may be too low, but
   * not lower than that: it then counts cached files as used.
   */
  read(enoughBytes?: number): MemoryAvailable | undefined;
  close(): void;
}

/** Of a group with a limit. `capacityBytes`: the limit of the top group, which has none of its own. */
export function groupGauge(tree: CgroupTree, group: string, capacityBytes?: number): MemoryGauge | undefined {
  const paths = memoryPaths(tree, group);
  if (paths === undefined) return undefined;
  const usage = new OpenFile(paths.usage);
  const stat = new OpenFile(paths.stat);
  const limit = new OpenFile(paths.limit);
  return {
    read: (enoughBytes = Infinity) => {
      const usageText = usage.read();
      const capacity = capacityBytes ?? limitIn(limit.read());
      const least = available(capacity, numberIn(usageText));
      // `memory.stat` is expensive: the kernel sums up all groups below for each read.
      if (least !== undefined && least.availableBytes > enoughBytes) return least;
      return available(capacity, workingSet(tree.version, usageText, stat.read()));
    },
    close: () => [usage, stat, limit].forEach((file) => file.close()),
  };
}

/** Of the whole machine. */
export function machineGauge(meminfoFile: string): MemoryGauge {
  const meminfo = new OpenFile(meminfoFile);
  return {
    read: () => {
      const text = meminfo.read();
      if (text === undefined) return undefined;
      return available(meminfoBytes(text, 'MemTotal'), machineMemoryUsage(text).workingSetBytes);
    },
    close: () => meminfo.close(),
  };
}

function available(
  capacityBytes: number | undefined,
  workingSetBytes: number | undefined,
): MemoryAvailable | undefined {
  if (capacityBytes === undefined || workingSetBytes === undefined) return undefined;
  return { availableBytes: Math.max(0, capacityBytes - workingSetBytes), capacityBytes };
}
