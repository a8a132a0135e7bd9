/** Background work that every runtime needs: logs are rotated, dead containers and unused images are removed. */
import { containerLogPath, podOfLabels } from '../../policies/cri/cri-labels.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { NodeSettings } from '../../../types/node-settings.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { ContainerGC, type ContainerGCParts } from '../garbage/container-gc.ts';
import { type GarbageCollector, startGarbageCollection } from '../garbage/garbage-collector.ts';
import type { ImageGC } from '../garbage/image-gc.ts';
import { ContainerLogManager } from '../logs/container-log-manager.ts';
import type { NodeReclaimer, NodeView } from './pod-node.ts';
import type { RuntimeService } from '../service/runtime-service.ts';

export type UpkeepSettings = Pick<
  NodeSettings,
  | 'containerLogMaxSizeBytes'
  | 'containerLogMaxFiles'
  | 'containerLogMaxWorkers'
  | 'containerLogMonitorIntervalMs'
  | 'minimumContainerTTLMs'
  | 'maximumDeadContainersPerContainer'
  | 'maximumDeadContainers'
>;

export interface UpkeepParts {
  readonly podLogsDir: string;
  readonly settings: UpkeepSettings;
  readonly runtime: RuntimeService;
  readonly removeOrphanedLogs?: ContainerGCParts['removeOrphanedLogs'];
  /** Undefined where there are no images. */
  readonly imageGC?: (view: NodeView) => ImageGC;
}

export class NodeUpkeep {
  readonly logs: ContainerLogManager;
  /** Does nothing before the start. */
  readonly reclaimer: NodeReclaimer;
  readonly #context: AgentContext;
  readonly #parts: UpkeepParts;
  #view: NodeView | undefined;
  #allDead: ContainerGC | undefined;
  #images: ImageGC | undefined;
  #garbage: GarbageCollector | undefined;

  constructor(context: AgentContext, parts: UpkeepParts) {
    this.#context = context;
    this.#parts = parts;
    const { podLogsDir, settings, runtime } = parts;
    this.logs = new ContainerLogManager(context, {
      runtime,
      containers: () => runningContainers(podLogsDir, this.#view?.pods() ?? []),
      maxSizeBytes: settings.containerLogMaxSizeBytes,
      maxFiles: settings.containerLogMaxFiles,
      maxWorkers: settings.containerLogMaxWorkers,
      monitorPeriodMs: settings.containerLogMonitorIntervalMs,
    });
    this.reclaimer = {
      deleteDeadContainers: async () => {
        await this.#allDead?.collect();
      },
      deleteUnusedImages: async () => {
        await this.#images?.deleteUnusedImages();
      },
    };
  }

  start(view: NodeView): void {
    this.#view = view;
    // As for the kubelet: dead containers of a pod that goes on stay, since without them the pod would run them again.
    this.#allDead = this.#containerGC(view.isPodTerminated);
    this.#images = this.#parts.imageGC?.(view);
    this.logs.start();
    const containerGC = this.#containerGC(view.isPodRemovable);
    this.#garbage = startGarbageCollection(this.#context, containerGC, this.#images);
  }

  async stop(): Promise<void> {
    await Promise.all([this.logs.stop(), this.#garbage?.stop()]);
  }

  /** Removes a container's logs with the container. */
  #containerGC(isPodRemovable: NodeView['isPodRemovable']): ContainerGC {
    const { podLogsDir, settings, runtime, removeOrphanedLogs } = this.#parts;
    return new ContainerGC(this.#context, {
      runtime,
      isPodRemovable,
      policy: {
        minAgeMs: settings.minimumContainerTTLMs,
        maxPerPodContainer: settings.maximumDeadContainersPerContainer,
        maxContainers: settings.maximumDeadContainers,
      },
      removeContainerLogs: async ({ labels, metadata }) => {
        const pod = podOfLabels(labels);
        await this.logs.clean(containerLogPath(podLogsDir, pod, metadata.name, metadata.attempt));
      },
      removeOrphanedLogs,
    });
  }
}

function* runningContainers(podLogsDir: string, pods: Iterable<RuntimePodStatus>) {
  for (const pod of pods) {
    for (const { id, name, state, restartCount } of pod.containers) {
      if (state === 'running') yield { id, logPath: containerLogPath(podLogsDir, pod, name, restartCount) };
    }
  }
}
