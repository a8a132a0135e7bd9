/** What the routes ask of the agent. Each group of routes takes the part that it needs. */
import type { ClaimedVolume } from '../../policies/volumes/claimed-volume.ts';
import type { MeasuredMachine } from '../metrics/cadvisor-metrics.ts';
import type { GroupFigures } from '../../runtime/stats/cadvisor/group-figures.ts';
import type { RuntimeService } from '../../runtime/service/runtime-service.ts';
import type { PodLogs } from '../../runtime/stats/stats-provider.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { PodWorker, ServedPod } from '../../../types/served-pod.ts';
import type { ClaimStats, Summary } from '../../../types/stats.ts';
import type { AgentCounters } from '../metrics/counters.ts';

export interface PluginSocket {
  readonly path: string;
  readonly isRegistered: boolean;
}

export interface NodeApi {
  readonly nodeName: string;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly runtime: RuntimeService;
  /** A connection of exec, attach or port-forward without any traffic for so long is closed; 0: never. */
  readonly streamingIdleMs: number;
  /** The setting `enableSystemLogQuery`. */
  readonly isSystemLogQueryEnabled: boolean;
  /** Why the agent is not healthy; undefined when it is. */
  health(): string | undefined;
  /** Pods that should be here, and those that still end. */
  pods(): Iterable<ServedPod>;
  /** The pod of that name that should be here. A static pod is found by the name of its mirror pod, which is the same. */
  pod(namespace: string, name: string): ServedPod | undefined;
  /** The pods that the sources want here, without mirror pods, as they are served to the cluster: static pods have their status of this node. */
  desiredPods(): Iterable<Pod>;
  workers(): Iterable<PodWorker>;
  mirrorPodCount(): number;
  /** When all pods of the runtime were last listed, in Unix milliseconds; undefined before the first time. */
  lastRelistMs(): number | undefined;
  /** Undefined where the machine has no cgroups. */
  cgroupVersion(): 1 | 2 | undefined;
  /** The pods that the runtime has, as last read. */
  runtimePods(): Iterable<RuntimePodStatus>;
  /** As last read; undefined where the runtime has nothing of the pod. */
  runtimePod(uid: string): RuntimePodStatus | undefined;
  summary(options: { readonly onlyCPUAndMemory: boolean }): Promise<Summary>;
  /** The figures of the machine, of all pods, and of each pod with its sandbox and containers. */
  groupFigures(): Promise<readonly GroupFigures[]>;
  machine(): Promise<MeasuredMachine>;
  /** The volumes of pods that have a claim. */
  claimFigures(): Promise<readonly ClaimStats[]>;
  /** What the logs of containers use of the disk. */
  logFigures(): Promise<readonly PodLogs[]>;
  /** Where the figures of containers come from: their cgroups, as cAdvisor reads them, or the runtime. */
  readonly metricsProvider: 'cadvisor' | 'cri';
  pluginSockets(): readonly PluginSocket[];
  /** What the claim of the pod's volume leads to; undefined for a volume without a claim, and while that is not known. */
  readonly claimedVolume: (uid: string, volume: string) => ClaimedVolume | undefined;
  /** Undefined where no port of the agent serves metrics: then nothing is counted. */
  readonly agentCounters: AgentCounters | undefined;
  /** When the certificates that the agent renews expire, in Unix milliseconds. */
  certificateEnds(): { readonly client: number | undefined; readonly serving: number | undefined };
  /** The KubeletConfiguration in effect, as `/configz` shows it; without secrets. */
  configuration(): object;
  /** The values of all flags by name, without `--`; without secrets. */
  flags(): Readonly<Record<string, string>>;
  /** The verbosity of klog, until the agent ends. */
  setVerbosity(level: number): void;
}
