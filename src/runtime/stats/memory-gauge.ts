import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import { meminfoBytes } from './kernel-text.ts';
import { limitIn, machineMemoryUsage, memoryPaths, memoryUsage } from './memory-files.ts';
import { HeldFile } from './small-files.ts';

/** What is left of some memory, and of how much. */
export interface MemoryAvailable {
  readonly availableBytes: number;
  readonly capacityBytes: number;
}

/** Looks again and again how much memory is left. Its files stay open: a look costs some ten microseconds. */
export interface MemoryGauge {
  /** Undefined where it cannot be known now: the group is gone, or has no limit. */
  read(): MemoryAvailable | undefined;
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
    read: () => {
      const used = memoryUsage(tree.version, usage.read(), stat.read());
      return used && left(capacityBytes ?? limitIn(limit.read()), used.workingSetBytes);
    },
    close: () => [usage, stat, limit].forEach((file) => file.close()),
  };
}

/** Of the whole machine, where no group counts its memory. */
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

function left(capacityBytes: number | undefined, workingSetBytes: number): MemoryAvailable | undefined {
  if (capacityBytes === undefined) return undefined;
  return { availableBytes: Math.max(0, capacityBytes - workingSetBytes), capacityBytes };
}
