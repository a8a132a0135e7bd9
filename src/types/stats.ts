/**
 * The resource usage of a node and its pods, as in the kubelet's `/stats/summary` (stats/v1alpha1). Figures that could not be
 * measured are left out. Times are RFC 3339; amounts are bytes unless the name says otherwise.
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
  /** The file system with volumes and logs; also with images and containers, unless they have their own. */
  readonly fs?: FsStats;
  readonly runtime?: RuntimeStats;
  readonly rlimit?: RlimitStats;
  /** One of them is `pods`: all pods together. */
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
  /** The claim of the volume. */
  readonly pvcRef?: { readonly name: string; readonly namespace: string };
}

export type ClaimStats = Required<VolumeStats>;

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
  /** Usage without file pages that are not in active use. */
  readonly workingSetBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
  readonly psi?: PSIStats;
}

export interface IOStats {
  readonly time?: string;
  /** Bytes read and written. The kubelet has no such figure. Only for pods, and only on request. */
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

/** The figures of the default interface, and of all interfaces. */
export interface NetworkStats extends InterfaceStats {
  readonly time?: string;
  readonly interfaces?: readonly InterfaceStats[];
}

/** Pressure stall information: how long some tasks, or all, waited for the resource. */
export interface PSIStats {
  readonly full?: PSIData;
  readonly some?: PSIData;
}

export interface PSIData {
  /** The total in microseconds, as the kernel counts; percentages of the last 10, 60 and 300 s. */
  readonly total: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}
