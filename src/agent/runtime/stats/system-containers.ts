/** What the system containers of the Summary use: the agent, the runtime, other daemons, and all pods together. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { ContainerStats, SwapStats } from '../../../types/stats.ts';
import type { CgroupTree } from '../cgroups/cgroup-tree.ts';
import { CgroupStats } from './cgroup-stats.ts';
import type { CpuRates } from './io-rates.ts';
import { readSmallFile } from './small-files.ts';

const NS_PER_US = 1000;
const TOP = '/';

export interface SystemContainerGroups {
  /** Empty: there is no such container. */
  readonly runtime: string;
  readonly misc: string;
}

/** Where the figures of the node come from. */
export interface NodeSources {
  /** Undefined if there are no cgroups. */
  readonly tree: CgroupTree | undefined;
  /** The group of all pods; undefined if there is none. */
  readonly kubepods: () => string | undefined;
  readonly systemGroups: SystemContainerGroups;
  readonly rates: CpuRates;
  /** The folder that contains `proc`. */
  readonly root: string;
}

export interface SystemContainersMoment {
  readonly nowMs: number;
  /** For eviction. */
  readonly onlyPods: boolean;
  /** As with the kubelet, a Summary of CPU and memory has no swap and no pressure of I/O of them. */
  readonly hasSwapAndIO: boolean;
  readonly machineSwap: Required<SwapStats> | undefined;
}

export class SystemContainers {
  readonly #sources: NodeSources;
  readonly #stats: CgroupStats | undefined;
  /** By group. The kernel gives the files of a group other times whenever it has forgotten them: the first ones count. */
  readonly #startTimes = new Map<string, string>();

  constructor(sources: NodeSources) {
    this.#sources = sources;
    this.#stats = sources.tree && new CgroupStats(sources.tree);
  }

  /** Containers of which nothing is known are left out. */
  read(moment: SystemContainersMoment): readonly ContainerStats[] {
    const { kubepods, systemGroups } = this.#sources;
    const pods = this.#ofGroup('pods', kubepods(), moment);
    const others = moment.onlyPods
      ? []
      : [
          this.#agent(moment),
          this.#ofGroup('runtime', systemGroups.runtime, moment),
          this.#ofGroup('misc', systemGroups.misc, moment),
        ];
    return [pods, ...others].filter((container) => container !== undefined);
  }

  /**
   * The group that the agent is in, where that is a group of its own in all hierarchies that count. At the top of the tree, where a
   * group has the figures of the whole machine, and without cgroups, it is the process.
   */
  #agent(moment: SystemContainersMoment): ContainerStats {
    const startTime = new Date(performance.timeOrigin).toISOString();
    const group = this.#ownGroup();
    const ofGroup = group === undefined ? undefined : this.#figures('kubelet', group, moment);
    return { ...(ofGroup ?? this.#ownProcess(moment.nowMs)), startTime };
  }

  #ownGroup(): string | undefined {
    const { tree, root } = this.#sources;
    if (tree === undefined) return undefined;
    const text = readSmallFile(join(root, 'proc/self/cgroup')) ?? '';
    const lines = Array.from(text.matchAll(/^\d+:([^:]*):(.*)$/gm));
    const groupOf = (controller: string) =>
      lines.find(([, controllers = '']) => controllers.split(',').includes(controller))?.[2];
    const counted = tree.version === 1 ? ['memory', 'cpuacct'] : [''];
    const [first, ...others] = counted.map(groupOf);
    return first === TOP || others.some((group) => group !== first) ? undefined : first;
  }

  #ownProcess(nowMs: number): ContainerStats {
    const time = new Date(nowMs).toISOString();
    const { userCPUTime, systemCPUTime, minorPageFault, majorPageFault } = process.resourceUsage();
    const usageCoreNanoSeconds = (userCPUTime + systemCPUTime) * NS_PER_US;
    const rssBytes = process.memoryUsage.rss();
    const pageFaults = minorPageFault + majorPageFault;
    const faults = { pageFaults, majorPageFaults: majorPageFault };
    const cpu = this.#sources.rates.withRate('kubelet', { time, usageCoreNanoSeconds }, nowMs);
    return {
      name: 'kubelet',
      cpu,
      memory: { time, usageBytes: rssBytes, workingSetBytes: rssBytes, rssBytes, ...faults },
    };
  }

  #ofGroup(
    name: string,
    group: string | undefined,
    moment: SystemContainersMoment,
  ): ContainerStats | undefined {
    if (group === undefined || group === '') return undefined;
    const figures = this.#figures(name, group, moment);
    const startTime = figures && this.#startTime(group, moment.nowMs);
    return figures && { ...figures, startTime };
  }

  #figures(
    name: string,
    group: string,
    { nowMs, hasSwapAndIO, machineSwap }: SystemContainersMoment,
  ): ContainerStats | undefined {
    const time = new Date(nowMs).toISOString();
    const swapOf = hasSwapAndIO ? machineSwap : undefined;
    const { memory, swap } = this.#stats?.memoryAndSwap(group, time, swapOf) ?? {};
    const cpu = this.#sources.rates.withRate(group, this.#stats?.cpu(group, time), nowMs);
    if (memory === undefined && cpu === undefined) return undefined;
    const io = hasSwapAndIO ? this.#stats?.io(group, time) : undefined;
    return { name, cpu, memory, io, swap };
  }

  /** As cAdvisor finds it: the earliest time of the group's folders, and of a file in them that is not written to. */
  #startTime(group: string, nowMs: number): string | undefined {
    const { tree } = this.#sources;
    const known = this.#startTimes.get(group);
    if (known !== undefined || tree === undefined) return known;
    const file = tree.version === 1 ? 'cgroup.clone_children' : 'cgroup.events';
    const paths = tree.folders(group).flatMap((folder) => [folder, join(folder, file)]);
    const times = paths.flatMap((path) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? []);
    if (times.length === 0) return undefined;
    const startTime = new Date(Math.min(nowMs, ...times)).toISOString();
    this.#startTimes.set(group, startTime);
    return startTime;
  }
}
