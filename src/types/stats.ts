/**
 * What a node and its pods use, by the names of the kubelet's `/stats/summary` (stats/v1alpha1). What could not be measured is
 * absent. Times are RFC 3339; amounts are bytes where the name does not say otherwise.
 */
export interface Summary {
  readonly node: NodeStats;
  readonly pods: readonly PodStats[];
}

export interface NodeStats {
  readonly nodeName: string;
  readonly startTime?: string;
  readonly cpu?: CPUStats;
  readonly memory?: MemoryStats;
  readonly io?: IOStats;
  readonly network?: NetworkStats;
  readonly swap?: SwapStats;
  /** The file system that holds volumes, logs and, where images have none of their own, containers. */
  readonly fs?: FsStats;
  readonly runtime?: RuntimeStats;
  readonly rlimit?: RlimitStats;
  /** Among them `pods`: all pods together. */
  readonly systemContainers?: readonly ContainerStats[];
}

export interface RuntimeStats {
  readonly imageFs?: FsStats;
  readonly containerFs?: FsStats;
}

export interface RlimitStats {
  readonly time?: string;
  /** The largest process ID, and how many processes and threads there are. */
  readonly maxpid?: number;
  readonly curproc?: number;
}

export interface PodStats {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly startTime?: string;
  readonly containers?: readonly ContainerStats[];
  readonly cpu?: CPUStats;
  readonly memory?: MemoryStats;
  readonly io?: IOStats;
  readonly network?: NetworkStats;
  readonly swap?: SwapStats;
  readonly volume?: readonly VolumeStats[];
  readonly 'ephemeral-storage'?: FsStats;
  readonly process_stats?: { readonly process_count?: number };
}

export interface ContainerStats {
  readonly name: string;
  readonly startTime?: string;
  readonly cpu?: CPUStats;
  readonly memory?: MemoryStats;
  readonly io?: IOStats;
  readonly swap?: SwapStats;
  /** The container's writable layer. */
  readonly rootfs?: FsStats;
  readonly logs?: FsStats;
}

export interface VolumeStats extends FsStats {
  readonly name: string;
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

export interface CPUStats {
  readonly time?: string;
  readonly usageNanoCores?: number;
  readonly usageCoreNanoSeconds?: number;
  readonly psi?: PSIStats;
}

export interface MemoryStats {
  readonly time?: string;
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  /** Usage less what of it are files that are not in active use. */
  readonly workingSetBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly psi?: PSIStats;
}

export interface IOStats {
  readonly time?: string;
  /** Read and written. Statelet's own, the kubelet has no such figure: of pods only, and only where it was asked for. */
  readonly bytesPerSecond?: number;
  readonly psi?: PSIStats;
}

export interface SwapStats {
  readonly time?: string;
  readonly swapAvailableBytes?: number;
  readonly swapUsageBytes?: number;
}

export interface InterfaceStats {
  readonly name?: string;
  readonly rxBytes?: number;
  readonly rxErrors?: number;
  readonly txBytes?: number;
  readonly txErrors?: number;
}

/** Of the default interface, and of all. */
export interface NetworkStats extends InterfaceStats {
  readonly time?: string;
  readonly interfaces?: readonly InterfaceStats[];
}

/** Pressure stall information: how long some, or all, tasks waited for the resource. */
export interface PSIStats {
  readonly full?: PSIData;
  readonly some?: PSIData;
}

export interface PSIData {
  /** Microseconds in all, as the kernel counts; percentages of the last 10, 60 and 300 s. */
  readonly total: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}
