/** How much memory a group uses, from the files of either version of cgroups. */
import { existsSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { CgroupVersion } from '../../policies/cgroups/cgroup-values.ts';
import type { MemoryStats, SwapStats } from '../../types/stats.ts';
import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import { meminfoBytes, numberIn, valueOf } from './kernel-text.ts';

/** What cgroups write as "no limit" is near 2^63 in v1, and "max" in v2. */
const UNLIMITED_BYTES = 2 ** 60;

export interface MemoryPaths {
  readonly usage: string;
  readonly stat: string;
  readonly limit: string;
  /** Of v2 alone. */
  readonly swapUsage: string;
  readonly swapLimit: string;
}

/** Undefined where groups do not count memory. */
export function memoryPaths(tree: CgroupTree, group: string): MemoryPaths | undefined {
  if (!tree.has('memory')) return undefined;
  const folder = tree.folder('memory', group);
  const [usage, limit] =
    tree.version === 1
      ? ['memory.usage_in_bytes', 'memory.limit_in_bytes']
      : ['memory.current', 'memory.max'];
  return {
    ...{ usage: join(folder, usage), limit: join(folder, limit), stat: join(folder, 'memory.stat') },
    ...{ swapUsage: join(folder, 'memory.swap.current'), swapLimit: join(folder, 'memory.swap.max') },
  };
}

/**
 * Whether the top of the tree is the machine itself, and not a group that this process sees as the top. What the machine's top
 * says of memory stands in `/proc/meminfo` as well, which costs a tenth: the top has to sum up what all groups below it use.
 */
export function isWholeMachine(tree: CgroupTree): boolean {
  const paths = memoryPaths(tree, '/');
  if (paths === undefined) return false;
  return tree.version === 1
    ? existsSync(join(tree.folder('memory', '/'), 'release_agent'))
    : !existsSync(paths.usage);
}

export type MemoryUsage = Required<Omit<MemoryStats, 'time' | 'availableBytes' | 'psi'>>;

/**
 * Of a group with all below it. The top of v2 has no `memory.current`: as for the kubelet it is what processes hold and
 * what is cached of files, which is what the top of v1 says. Undefined where the group is gone.
 */
export function memoryUsage(
  version: CgroupVersion,
  usageText: string | undefined,
  stat: string | undefined,
): MemoryUsage | undefined {
  if (stat === undefined || stat === '') return undefined;
  const value = (key: string): number => valueOf(stat, version === 1 ? `total_${key}` : key) ?? 0;
  const rssBytes = value(version === 1 ? 'rss' : 'anon');
  const usageBytes = numberIn(usageText) ?? rssBytes + value(version === 1 ? 'cache' : 'file');
  return {
    ...{ usageBytes, rssBytes, workingSetBytes: Math.max(0, usageBytes - value('inactive_file')) },
    ...{ pageFaults: value('pgfault'), majorPageFaults: value('pgmajfault') },
  };
}

/** The same alone. Not of the top of v2, which has no `memory.current`. */
export function workingSet(
  version: CgroupVersion,
  usageText: string | undefined,
  stat: string | undefined,
): number | undefined {
  const usageBytes = numberIn(usageText);
  if (usageBytes === undefined || stat === undefined || stat === '') return undefined;
  const inactive = valueOf(stat, version === 1 ? 'total_inactive_file' : 'inactive_file') ?? 0;
  return Math.max(0, usageBytes - inactive);
}

/** What the whole machine uses. */
export function machineMemoryUsage(meminfo: string): Omit<MemoryUsage, 'pageFaults' | 'majorPageFaults'> {
  const bytes = (key: string): number => meminfoBytes(meminfo, key);
  const rssBytes = bytes('AnonPages');
  const usageBytes = rssBytes + bytes('Cached') + bytes('Buffers') + bytes('SwapCached');
  return { usageBytes, rssBytes, workingSetBytes: Math.max(0, usageBytes - bytes('Inactive(file)')) };
}

export function limitIn(text: string | undefined): number | undefined {
  const bytes = numberIn(text);
  return bytes === undefined || bytes >= UNLIMITED_BYTES ? undefined : bytes;
}

/** Of the whole machine. */
export function memoryCapacity(meminfo: string | undefined): number {
  return meminfo === undefined ? totalmem() : meminfoBytes(meminfo, 'MemTotal');
}

export type SwapUsage = Omit<SwapStats, 'time'>;

/** Of the whole machine. Undefined where the kernel does not tell. */
export function machineSwap(meminfo: string | undefined): Required<SwapUsage> | undefined {
  if (meminfo === undefined || valueOf(meminfo, 'SwapTotal:') === undefined) return undefined;
  const swapAvailableBytes = meminfoBytes(meminfo, 'SwapFree');
  return { swapAvailableBytes, swapUsageBytes: meminfoBytes(meminfo, 'SwapTotal') - swapAvailableBytes };
}
