/** The figures of a node and its pods: for the kubelet's Summary, and for eviction. */
import type { CsiFigures } from './disks/claim-figures.ts';
import type { CgroupDriverName } from '../../policies/cgroups/cgroup-names.ts';
import type { NetworkLink, NodeCpuFigures, NodeMemoryFigures } from '../../../types/eviction-plugin.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import type { ClaimStats, PSIStats, Summary } from '../../../types/stats.ts';
import type { RuntimeService } from '../service/runtime-service.ts';
import type { GroupFigures } from './cadvisor/group-figures.ts';
import {
  type MemoryAvailable,
  type MemoryCrossing,
  type MemorySignal,
  type MemoryThreshold,
} from './memory-watch.ts';
import { type DiskLayout } from './disks/node-disks.ts';
import { type PressureCrossing, type PressureThreshold } from './pressure-watch.ts';
import type { SystemContainerGroups } from './system-containers.ts';

export interface SummaryOptions {
  /** Leaves out the figures of pods. */
  readonly onlyNode?: boolean;
  /** Whether to include figures of networks, and of volumes with claims. Default: if disks are included. */
  readonly network?: boolean;
  /** Leaves out the figures of disks, volumes and networks, and of the node's PIDs. */
  readonly onlyCPUAndMemory?: boolean;
  /** Older figures of logs and volumes are measured again. Default: a minute. */
  readonly diskUsageMaxAgeMs?: number;
  /** How long to wait for those figures. Default: two seconds. */
  readonly diskUsagePatienceMs?: number;
  /** Measures the I/O rate of pods over this time; the answer takes so long. Default: not measured. */
  readonly ioOverMs?: number;
  readonly signal?: AbortSignal;
}

/** What the logs of a pod's running containers use. */
export interface PodLogs {
  readonly pod: Pick<RuntimePodStatus, 'uid' | 'namespace' | 'name'>;
  /** By the name of the container. */
  readonly used: ReadonlyMap<string, { readonly usedBytes: number }>;
}

export interface Watch {
  stop(): void;
}

export interface StatsProvider {
  /** Leaves out figures that are not available; a missing figure never makes it reject. */
  summary(options?: SummaryOptions): Promise<Summary>;
  /** The figures of the machine, of all pods, and of each pod with its sandbox and containers: more than a Summary has of them. */
  groupFigures(): Promise<readonly GroupFigures[]>;
  /** What the logs of containers use of the disk, of each pod in a Summary. */
  logFigures(): Promise<readonly PodLogs[]>;
  /** The volumes with claims of the pods in a Summary. */
  claimFigures(): Promise<readonly ClaimStats[]>;
  /** Takes microseconds. Undefined if it is not known, or there is no limit. */
  memoryAvailable(signal: MemorySignal): MemoryAvailable | undefined;
  /** Calls `onCrossed` within a quarter of a second after a threshold was crossed, until it is stopped. */
  watchMemory(thresholds: readonly MemoryThreshold[], onCrossed: (crossing: MemoryCrossing) => void): Watch;
  /** The same for thresholds of pressure: averages of how long tasks wait, which the kernel updates every two seconds. */
  watchPressure(
    thresholds: readonly PressureThreshold[],
    onCrossed: (crossing: PressureCrossing) => void,
  ): Watch;
  /** How long tasks of this machine wait for a resource. */
  pressure(resource: 'cpu' | 'memory' | 'io'): PSIStats | undefined;
  /** What eviction plugins judge the machine's memory by. */
  readonly nodeMemory: NodeMemoryFigures;
  /** The same for its CPUs. */
  nodeCpu(): Promise<NodeCpuFigures>;
  /** Reads the kernel's files. */
  networkLinks(): Promise<readonly NetworkLink[]>;
  /** Which of the node's file systems are the same one. Rejects if the runtime does not answer. */
  diskLayout(): Promise<DiskLayout>;
  /** Resolves when no measurement is under way. */
  close(): Promise<void>;
}

export interface StatsProviderParts {
  readonly nodeName: string;
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** The group that contains `kubepods`; undefined if pods have no groups. */
  readonly cgroupRoot: string | undefined;
  /** Whether all pods are on the node's network. */
  readonly sharesNetwork?: boolean;
  /** The driver of the groups of pods. Default: `cgroupfs`. */
  readonly cgroupDriver?: () => CgroupDriverName;
  /** Default: there are no such groups. */
  readonly systemGroups?: SystemContainerGroups;
  readonly runtime: Pick<RuntimeService, 'listContainerStats' | 'imageFsInfo' | 'containerFsInfo'>;
  /** The pods in the runtime, as last seen. */
  readonly pods: () => Iterable<RuntimePodStatus>;
  /** What a pod should be. Default: no pod has claims. */
  readonly podOf?: (uid: string) => Pod | undefined;
  /** The figures that CSI drivers have of volumes. */
  readonly csiFigures?: CsiFigures | undefined;
  /** Folders that the runtime keeps for a pod, in addition to its containers' layers. */
  readonly scratchOf?: (pod: RuntimePodStatus) => readonly string[];
  /** The folder that contains `proc`. Default: `/`. */
  readonly root?: string;
  /** Default: that of this process. */
  readonly mountinfoFile?: string;
}
