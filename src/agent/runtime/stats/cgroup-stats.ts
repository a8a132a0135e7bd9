import type { CPUStats, IOStats, MemoryStats, SwapStats } from '../../../types/stats.ts';
import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import { numberIn, pressureIn, readSmallFile, valueOf } from './small-files.ts';
import { limitIn, memoryPaths, memoryUsage } from './memory-files.ts';

const NS_PER_US = 1000;

/** The figures of cgroups, each with the groups below it. Figures that the kernel does not count, and removed groups, are left out. */
export class CgroupStats {
  readonly #tree: CgroupTree;

  constructor(tree: CgroupTree) {
    this.#tree = tree;
  }

  /** The file from which both `memory` and `swap` are read. */
  memoryStat(group: string): string | undefined {
    const paths = memoryPaths(this.#tree, group);
    return paths && readSmallFile(paths.stat);
  }

  memory(group: string, time: string, stat = this.memoryStat(group)): MemoryStats | undefined {
    const paths = memoryPaths(this.#tree, group);
    if (paths === undefined) return undefined;
    const usage = memoryUsage(this.#tree.version, readSmallFile(paths.usage), stat);
    if (usage === undefined) return undefined;
    const limitBytes = limitIn(readSmallFile(paths.limit));
    const psi = this.#pressure(group, 'memory');
    return {
      time,
      ...(limitBytes !== undefined && { availableBytes: Math.max(0, limitBytes - usage.workingSetBytes) }),
      ...usage,
      psi,
    };
  }

  /** With v1 without available bytes: v1 has no limit of swap alone, but one of memory and swap together. */
  swap(group: string, time: string, stat: string | undefined): SwapStats | undefined {
    const paths = memoryPaths(this.#tree, group);
    if (paths === undefined || stat === undefined) return undefined;
    if (this.#tree.version === 1) return swapStats(time, valueOf(stat, 'total_swap'));
    const usageBytes = numberIn(readSmallFile(paths.swapUsage));
    return swapStats(time, usageBytes, this.#swapLimit(group));
  }

  /** Memory and swap together. `machineSwap`: on a machine without swap every usage is zero, and is not read. */
  memoryAndSwap(
    group: string,
    time: string,
    machineSwap: Required<SwapStats> | undefined,
  ): { readonly memory: MemoryStats | undefined; readonly swap: SwapStats | undefined } {
    const stat = this.memoryStat(group);
    const memory = this.memory(group, time, stat);
    const hasSwap = machineSwap && machineSwap.swapUsageBytes + machineSwap.swapAvailableBytes > 0;
    const swap = hasSwap
      ? this.swap(group, time, stat)
      : machineSwap && memory && swapStats(time, 0, this.#swapLimit(group));
    return { memory, swap };
  }

  cpu(group: string, time: string): CPUStats | undefined {
    const usageCoreNanoSeconds = this.#cpuNs(group);
    const psi = this.#pressure(group, 'cpu');
    return usageCoreNanoSeconds === undefined ? undefined : { time, usageCoreNanoSeconds, psi };
  }

  io(group: string, time: string): IOStats | undefined {
    const psi = this.#pressure(group, 'io');
    return psi && { time, psi };
  }

  /** Includes threads, as limits of PIDs do. Undefined if groups do not count them. */
  pids(group: string): number | undefined {
    if (!this.#tree.has('pids')) return undefined;
    return numberIn(readSmallFile(`${this.#tree.folder('pids', group)}/pids.current`));
  }

  /** v1 has none of swap alone. */
  #swapLimit(group: string): number | undefined {
    const paths = this.#tree.version === 1 ? undefined : memoryPaths(this.#tree, group);
    return paths && limitIn(readSmallFile(paths.swapLimit));
  }

  #cpuNs(group: string): number | undefined {
    const { version } = this.#tree;
    if (version === 1) {
      const folder = this.#tree.has('cpuacct') ? this.#tree.folder('cpuacct', group) : undefined;
      return folder === undefined ? undefined : numberIn(readSmallFile(`${folder}/cpuacct.usage`));
    }
    // v2 counts it in every group, with or without the cpu controller.
    const microseconds = valueOf(readSmallFile(this.#unified(group, 'cpu.stat')) ?? '', 'usage_usec');
    return microseconds === undefined ? undefined : microseconds * NS_PER_US;
  }

  /** Only v2 has the pressure of groups. */
  #pressure(group: string, resource: 'cpu' | 'memory' | 'io') {
    if (this.#tree.version === 1) return undefined;
    return pressureIn(readSmallFile(this.#unified(group, `${resource}.pressure`)));
  }

  #unified(group: string, file: string): string {
    const [top] = this.#tree.folders(group);
    return `${top ?? ''}/${file}`;
  }
}

function swapStats(time: string, swapUsageBytes?: number, limitBytes?: number): SwapStats | undefined {
  if (swapUsageBytes === undefined) return undefined;
  const swapAvailableBytes = limitBytes === undefined ? undefined : Math.max(0, limitBytes - swapUsageBytes);
  return { time, swapAvailableBytes, swapUsageBytes };
}
