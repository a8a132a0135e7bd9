/** How much memory a group uses, from the files of cgroup v1 or v2. */
import { existsSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { CgroupVersion } from '../../policies/cgroups/cgroup-values.ts';
import type { MemoryStats, SwapStats } from '../../../types/stats.ts';
import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import { meminfoBytes, numberIn, valueOf } from './small-files.ts';

/** "No limit" is a number near 2^63 in v1, and "max" in v2. */
const UNLIMITED_BYTES = 2 ** 60;

export interface MemoryPaths {
  readonly usage: string;
  readonly stat: string;
  readonly limit: string;
  /** Only v2 has this file, and the next one. */
  readonly swapUsage: string;
  readonly swapLimit: string;
}

/** Undefined if groups do not count memory. */
export function memoryPaths(tree: CgroupTree, group: string): MemoryPaths | undefined {
  if (!tree.has('memory')) return undefined;
  const folder = tree.folder('memory', group);
  const [usage, limit] =
    tree.version === 1
      ? ['memory.usage_in_bytes', 'memory.limit_in_bytes']
      : ['memory.current', 'memory.max'];
  // For each group of a scrape: `join` would take as long as the parsing of the files.
  return {
    usage: `${folder}/${usage}`,
    limit: `${folder}/${limit}`,
    stat: `${folder}/memory.stat`,
    swapUsage: `${folder}/memory.swap.current`,
    swapLimit: `${folder}/memory.swap.max`,
  };
}

/**
 * Whether the tree's top group is the machine's, and not a group that this process sees as the top. The machine's figures are
 * also in `/proc/meminfo`, which takes a tenth of the time: for the top group the kernel has to sum up all groups.
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
 * The usage of a group with the groups below it. The top group of v2 has no `memory.current`: its usage is processes' memory
 * plus cached files, as with the kubelet and v1. Undefined if the group is gone.
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
    usageBytes,
    rssBytes,
    workingSetBytes: Math.max(0, usageBytes - value('inactive_file')),
    pageFaults: value('pgfault'),
    majorPageFaults: value('pgmajfault'),
  };
}

/** The working set alone. Undefined for the top group of v2, which has no `memory.current`. */
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

/** The usage of the whole machine. */
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

/** Of the whole machine. Undefined if the kernel has no such figures. */
export function machineSwap(meminfo: string | undefined): Required<SwapUsage> | undefined {
  if (meminfo === undefined || valueOf(meminfo, 'SwapTotal:') === undefined) return undefined;
  const swapAvailableBytes = meminfoBytes(meminfo, 'SwapFree');
  return { swapAvailableBytes, swapUsageBytes: meminfoBytes(meminfo, 'SwapTotal') - swapAvailableBytes };
}
