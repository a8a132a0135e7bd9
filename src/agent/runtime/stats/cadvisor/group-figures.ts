/** What is known of a group of processes: the machine, all pods, a pod, a sandbox or a container. As in cAdvisor. */
import type { PSIStats } from '../../../../types/stats.ts';

export interface GroupFigures {
  /** The path of the cgroup; of a container without one, its id. */
  readonly id: string;
  /** Of containers and sandboxes: the runtime's id. Empty otherwise, as are the next ones where they do not apply. */
  readonly name: string;
  readonly image: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Unix ms. */
  readonly timeMs: number;
  readonly startedAtMs?: number;
  readonly cpu?: GroupCPU;
  readonly memory?: GroupMemory;
  readonly oomEvents?: number;
  readonly disks: readonly GroupDisk[];
  readonly interfaces: readonly GroupInterface[];
  readonly limits?: GroupLimits;
  readonly pressure?: GroupPressure;
}

export interface GroupCPU {
  readonly usageSeconds: number;
  readonly userSeconds?: number;
  readonly systemSeconds?: number;
  /** Only of groups with a limit. */
  readonly throttling?: {
    readonly periods: number;
    readonly throttledPeriods: number;
    readonly throttledSeconds: number;
  };
}

/** In bytes. */
export interface GroupMemory {
  readonly usage?: number;
  readonly workingSet: number;
  readonly rss: number;
  readonly cache?: number;
  readonly swap?: number;
  readonly mappedFile?: number;
}

export interface GroupDisk {
  /** `/dev/sda`; `8:0` where the kernel does not name it. */
  readonly device: string;
  readonly readBytes: number;
  readonly writtenBytes: number;
  readonly reads: number;
  readonly writes: number;
}

export interface GroupInterface {
  readonly name: string;
  readonly received: InterfaceCounts;
  readonly sent: InterfaceCounts;
}

export interface InterfaceCounts {
  readonly bytes: number;
  readonly packets: number;
  readonly errors: number;
  readonly dropped: number;
}

/** In bytes and microseconds; 0 is no limit. */
export interface GroupLimits {
  readonly cpuShares: number;
  readonly cpuPeriod: number;
  /** Undefined: no limit. */
  readonly cpuQuota: number | undefined;
  readonly memory: number;
}

export type GroupPressure = Readonly<Record<'cpu' | 'memory' | 'io', PSIStats | undefined>>;
