import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import { meminfoBytes, numberIn } from './kernel-text.ts';
import { limitIn, machineMemoryUsage, memoryPaths, workingSet } from './memory-files.ts';
import { HeldFile } from './small-files.ts';

/** What is left of some memory, and of how much. */
export interface MemoryAvailable {
  readonly availableBytes: number;
  readonly capacityBytes: number;
}

/** Looks again and again how much memory is left. Its files stay open: a look costs some ten microseconds. */
export interface MemoryGauge {
  /**
   * Undefined where it cannot be known now: the group is gone, or has no limit. Where more than `enoughBytes` are left it
   * may tell less than is left, but not less than that: what is cached of files is then not told apart.
   */
  read(enoughBytes?: number): MemoryAvailable | undefined;
  close(): void;
}

/** Of a group that has a limit; `capacityBytes` stands in for the limit that the top has not. */
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
      const least = left(capacity, numberIn(usageText));
      // The kernel sums the file up from all groups below whenever it is read.
      if (least !== undefined && least.availableBytes > enoughBytes) return least;
      return left(capacity, workingSet(tree.version, usageText, stat.read()));
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
      return left(meminfoBytes(text, 'MemTotal'), machineMemoryUsage(text).workingSetBytes);
    },
    close: () => meminfo.close(),
  };
}

function left(
  capacityBytes: number | undefined,
  workingSetBytes: number | undefined,
): MemoryAvailable | undefined {
  if (capacityBytes === undefined || workingSetBytes === undefined) return undefined;
  return { availableBytes: Math.max(0, capacityBytes - workingSetBytes), capacityBytes };
}
