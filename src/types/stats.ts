/**
 * The kubelet's Summary (stats.v1alpha1) as JSON, by its own names. A figure that cannot be had is left out. Times are
 * RFC 3339, of the moment at which the figure was read.
 */

export interface Summary {
  readonly node: NodeStats;
  readonly pods: readonly PodStats[];
}

export interface NodeStats {
  readonly nodeName: string;
  /** The groups of processes beside pods, and `pods` for all of these together. */
  readonly systemContainers?: readonly ContainerStats[];
  /** When the machine was started. */
  readonly startTime?: string;
  readonly cpu?: CPUStats;
  readonly memory?: MemoryStats;
  readonly io?: IOStats;
  /** Where the root directory is: volumes, logs. */
  readonly fs?: FsStats;
  readonly runtime?: RuntimeStats;
  readonly rlimit?: RlimitStats;
}

export interface RuntimeStats {
  readonly imageFs?: FsStats;
  /** Of the writable layers of containers. */
  readonly containerFs?: FsStats;
}

export interface RlimitStats {
  readonly time?: string;
  readonly maxpid?: number;
  /** Threads count as well: the kernel gives each of them a PID. */
  readonly curproc?: number;
}

export interface PodReference {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
}

export interface PodStats {
  readonly podRef: PodReference;
  readonly startTime?: string;
  readonly containers?: readonly ContainerStats[];
  readonly cpu?: CPUStats;
  readonly memory?: MemoryStats;
  readonly io?: IOStats;
  readonly volume?: readonly VolumeStats[];
  /** Logs, writable layers and the volumes that lie on the node's disk. */
  readonly 'ephemeral-storage'?: FsStats;
  readonly process_stats?: ProcessStats;
}

export interface ContainerStats {
  readonly name: string;
  readonly startTime?: string;
  readonly cpu?: CPUStats;
  readonly memory?: MemoryStats;
  readonly io?: IOStats;
  /** `usedBytes` and `inodesUsed` are those of the writable layer, the rest of its file system. */
  readonly rootfs?: FsStats;
  readonly logs?: FsStats;
}

export interface ProcessStats {
  readonly process_count?: number;
}

export interface CPUStats {
  readonly time?: string;
  /** Over the time since the figures were last asked for. */
  readonly usageNanoCores?: number;
  readonly usageCoreNanoSeconds?: number;
  readonly psi?: PSIStats;
}

export interface MemoryStats {
  readonly time?: string;
  /** What is left below the limit; without one, nothing is said. Of the node: its capacity less the working set. */
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  /** The usage less what the kernel can take back at once: the cache of files that were not used of late. */
  readonly workingSetBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly psi?: PSIStats;
}

export interface IOStats {
  readonly time?: string;
  readonly psi?: PSIStats;
}

/** How long tasks waited for a resource: `some`, at least one; `full`, all that could have worked. */
export interface PSIStats {
  readonly full: PSIData;
  readonly some: PSIData;
}

export interface PSIData {
  /** In microseconds. */
  readonly total: number;
  /** Percent of the last 10, 60 and 300 seconds. */
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

export interface FsStats {
  readonly time?: string;
  readonly availableBytes?: number;
  readonly capacityBytes?: number;
  readonly usedBytes?: number;
  readonly inodesFree?: number;
  readonly inodes?: number;
  readonly inodesUsed?: number;
}

export interface VolumeStats extends FsStats {
  readonly name: string;
}
