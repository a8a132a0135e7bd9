/** Reads the figures of one cgroup, of either version, from as few files as can be. */
import { readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { weightToShares } from '../../../policies/cgroups/cgroup-resources.ts';
import type { CgroupTree } from '../../cgroups/cgroup-tree.ts';
import { groupFolder } from '../pod-groups.ts';
import { limitIn, memoryPaths, memoryUsage } from '../memory-files.ts';
import { numberIn, pressureIn, readSmallFile, valueOf } from '../small-files.ts';
import type { GroupCPU, GroupDisk, GroupLimits, GroupMemory, GroupPressure } from './group-figures.ts';
import type { OpenFiles } from './open-files.ts';

const US_PER_S = 1e6;
const NS_PER_S = 1e9;
const DEFAULT_PERIOD_US = 100_000;

export interface SharedByGroups {
  readonly disks: DiskNames;
  readonly openFiles: OpenFiles;
}

/** Kept as long as the group is there: to put the paths together takes as long as to read a file. */
export class GroupFiles {
  readonly #processes: string;
  readonly #version: CgroupTree['version'];
  readonly #disks: DiskNames;
  readonly #openFiles: OpenFiles;
  readonly #memory: ReturnType<typeof memoryPaths>;
  readonly #oom: string;
  /** On v1 `cpuacct.usage`, on v2 `cpu.stat`. */
  readonly #cpuUsage: string | undefined;
  readonly #cpuStat: string | undefined;
  readonly #cpuFolder: string | undefined;
  readonly #ioStat: string | undefined;
  /** Of CPU, memory and I/O. */
  readonly #pressures: readonly string[];

  constructor(tree: CgroupTree, group: string, { disks, openFiles }: SharedByGroups) {
    const inHierarchy = (controller: string, file: string) =>
      tree.has(controller) ? join(tree.folder(controller, group), file) : undefined;
    const [unified = ''] = tree.folders(group);
    this.#processes = join(groupFolder(tree, group) ?? '', 'cgroup.procs');
    this.#version = tree.version;
    this.#disks = disks;
    this.#openFiles = openFiles;
    this.#memory = memoryPaths(tree, group);
    this.#oom = join(
      this.#memory?.stat ?? '',
      '..',
      tree.version === 1 ? 'memory.oom_control' : 'memory.events',
    );
    this.#cpuUsage = tree.version === 1 ? inHierarchy('cpuacct', 'cpuacct.usage') : join(unified, 'cpu.stat');
    this.#cpuStat = inHierarchy('cpu', 'cpu.stat');
    this.#cpuFolder = inHierarchy('cpu', '');
    const isV2 = tree.version === 2;
    this.#ioStat = isV2 ? inHierarchy('io', 'io.stat') : undefined;
    this.#pressures = isV2 ? ['cpu', 'memory', 'io'].map((name) => join(unified, `${name}.pressure`)) : [];
  }

  /** `hasQuota`: whether the group has a limit, by which it may have been throttled. Undefined if the group is gone. */
  cpu(hasQuota: boolean): GroupCPU | undefined {
    const text = this.#cpuUsage === undefined ? undefined : this.#openFiles.read(this.#cpuUsage);
    if (text === undefined) return undefined;
    return this.#version === 1 ? this.#cpuOfV1(text, hasQuota) : cpuOfV2(text, hasQuota);
  }

  /** `hasSwap`: of the machine. Undefined if the group is gone. */
  memory(hasSwap: boolean): GroupMemory | undefined {
    const [version, paths] = [this.#version, this.#memory];
    if (paths === undefined) return undefined;
    const stat = this.#openFiles.read(paths.stat);
    const usage = memoryUsage(version, this.#openFiles.read(paths.usage), stat);
    if (usage === undefined || stat === undefined) return undefined;
    const swap = () =>
      version === 1 ? valueOf(stat, 'total_swap') : numberIn(readSmallFile(paths.swapUsage));
    return {
      usage: usage.usageBytes,
      workingSet: usage.workingSetBytes,
      rss: usage.rssBytes,
      cache: valueOf(stat, version === 1 ? 'total_cache' : 'file') ?? 0,
      mappedFile: valueOf(stat, version === 1 ? 'total_mapped_file' : 'file_mapped') ?? 0,
      swap: hasSwap ? (swap() ?? 0) : 0,
    };
  }

  /** The ID of a process in the group itself. Undefined if there is none, or it has no ID in this PID namespace. */
  firstProcess(): string | undefined {
    const first = this.#openFiles.read(this.#processes)?.split('\n', 1)[0] ?? '';
    return first === '' || first === '0' ? undefined : first;
  }

  /** The group is gone. */
  close(): void {
    const { stat, usage } = this.#memory ?? {};
    const paths = [this.#cpuUsage, stat, usage, this.#oom, this.#processes, this.#ioStat, ...this.#pressures];
    this.#openFiles.close(paths.filter((path) => path !== undefined));
  }

  /** How many processes the kernel has killed for want of memory. */
  oomKills(): number | undefined {
    return this.#memory && valueOf(this.#openFiles.read(this.#oom) ?? '', 'oom_kill');
  }

  limits(): GroupLimits | undefined {
    const memory = this.#memory && (limitIn(readSmallFile(this.#memory.limit)) ?? 0);
    const folder = this.#cpuFolder;
    if (memory === undefined || folder === undefined) return undefined;
    const read = (file: string) => readSmallFile(join(folder, file));
    if (this.#version === 1) {
      const quota = numberIn(read('cpu.cfs_quota_us')) ?? -1;
      return {
        cpuShares: numberIn(read('cpu.shares')) ?? 0,
        cpuPeriod: numberIn(read('cpu.cfs_period_us')) ?? DEFAULT_PERIOD_US,
        cpuQuota: quota > 0 ? quota : undefined,
        memory,
      };
    }
    // `max 100000`, or `20000 100000`.
    const [quota, period] = (read('cpu.max') ?? '').split(' ');
    const weight = numberIn(read('cpu.weight'));
    return {
      cpuShares: weight === undefined ? 0 : weightToShares(weight),
      cpuPeriod: numberIn(period) ?? DEFAULT_PERIOD_US,
      cpuQuota: numberIn(quota),
      memory,
    };
  }

  /** Of v2 alone: v1 counts only what a process submits itself, and on some kernels nothing. */
  disks(): readonly GroupDisk[] {
    if (this.#ioStat === undefined) return [];
    const text = this.#openFiles.read(this.#ioStat) ?? '';
    return Array.from(text.matchAll(IO_STAT), ([, device = '', readBytes, writtenBytes, reads, writes]) => ({
      device: this.#disks.nameOf(device),
      readBytes: Number(readBytes),
      writtenBytes: Number(writtenBytes),
      reads: Number(reads),
      writes: Number(writes),
    }));
  }

  /** Of v2 alone. */
  pressure(): GroupPressure | undefined {
    if (this.#pressures.length === 0) return undefined;
    const [cpu, memory, io] = this.#pressures.map((path) => pressureIn(this.#openFiles.read(path)));
    return { cpu, memory, io };
  }

  #cpuOfV1(text: string, hasQuota: boolean): GroupCPU | undefined {
    const usage = numberIn(text);
    if (usage === undefined) return undefined;
    const stat = hasQuota && this.#cpuStat !== undefined ? readSmallFile(this.#cpuStat) : undefined;
    return {
      usageSeconds: usage / NS_PER_S,
      ...(stat !== undefined && { throttling: throttlingIn(stat, 'throttled_time', NS_PER_S) }),
    };
  }
}

function cpuOfV2(stat: string, hasQuota: boolean): GroupCPU | undefined {
  const usage = valueOf(stat, 'usage_usec');
  if (usage === undefined) return undefined;
  return {
    usageSeconds: usage / US_PER_S,
    userSeconds: (valueOf(stat, 'user_usec') ?? 0) / US_PER_S,
    systemSeconds: (valueOf(stat, 'system_usec') ?? 0) / US_PER_S,
    ...(hasQuota && { throttling: throttlingIn(stat, 'throttled_usec', US_PER_S) }),
  };
}

/** `8:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0`. */
const IO_STAT = /^(\d+:\d+) rbytes=(\d+) wbytes=(\d+) rios=(\d+) wios=(\d+)/gm;

function throttlingIn(stat: string, timeKey: string, unitsPerSecond: number) {
  const value = (key: string) => valueOf(stat, key) ?? 0;
  return {
    periods: value('nr_periods'),
    throttledPeriods: value('nr_throttled'),
    throttledSeconds: value(timeKey) / unitsPerSecond,
  };
}

/** The names of block devices by their numbers. */
export class DiskNames {
  readonly #root: string;
  readonly #names = new Map<string, string>();

  /** `root`: the folder that contains `sys`. */
  constructor(root: string) {
    this.#root = root;
  }

  /** `/dev/sda` for `8:0`; the numbers themselves where the kernel has no name. A device that is gone keeps its name. */
  nameOf(numbers: string): string {
    const known = this.#names.get(numbers);
    if (known !== undefined) return known;
    const name = this.#read(numbers);
    this.#names.set(numbers, name);
    return name;
  }

  #read(numbers: string): string {
    try {
      return `/dev/${basename(readlinkSync(join(this.#root, 'sys/dev/block', numbers)))}`;
    } catch {
      return numbers;
    }
  }
}
