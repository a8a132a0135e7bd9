import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import { meminfoBytes, numberIn } from './kernel-text.ts';
import { limitIn, machineMemoryUsage, memoryPaths, workingSet } from './memory-files.ts';
import { HeldFile } from './small-files.ts';

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
  const usage = new HeldFile(paths.usage);
  const stat = new HeldFile(paths.stat);
  const limit = new HeldFile(paths.limit);
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
  const meminfo = new HeldFile(meminfoFile);
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
