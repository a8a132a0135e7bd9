/** Background work that every runtime needs: logs are rotated, dead containers are removed. */
import { containerLogPath, podOfLabels } from '../../policies/cri/cri-labels.ts';
import type { Logger } from '../../../types/logger.ts';
import type { NodeSettings } from '../../../types/node-settings.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import { ContainerGC, type ContainerGCOptions } from '../garbage/container-gc.ts';
import { ContainerLogManager } from '../logs/container-log-manager.ts';
import type { NodeView } from './pod-node.ts';
import type { RuntimeService } from '../service/runtime-service.ts';
import { systemClock } from '../../../system/timer.ts';

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

export interface UpkeepSetup {
  readonly podLogsDir: string;
  readonly settings: UpkeepSettings;
  readonly logger: Logger;
}

export function createLogManager(
  { podLogsDir, settings, logger }: UpkeepSetup,
  runtime: RuntimeService,
  pods: NodeView['pods'],
): ContainerLogManager {
  return new ContainerLogManager({
    runtime,
    logger,
    clock: systemClock,
    containers: () => runningContainers(podLogsDir, pods()),
    maxSizeBytes: settings.containerLogMaxSizeBytes,
    maxFiles: settings.containerLogMaxFiles,
    maxWorkers: settings.containerLogMaxWorkers,
    monitorPeriodMs: settings.containerLogMonitorIntervalMs,
  });
}

function* runningContainers(podLogsDir: string, pods: Iterable<RuntimePodStatus>) {
  for (const pod of pods) {
    for (const { id, name, state, restartCount } of pod.containers) {
      if (state === 'running') yield { id, logPath: containerLogPath(podLogsDir, pod, name, restartCount) };
    }
  }
}

/** Removes a container's logs with the container. */
export function createContainerGC(
  { podLogsDir, settings, logger }: UpkeepSetup,
  { runtime, logs }: { readonly runtime: RuntimeService; readonly logs: ContainerLogManager },
  isPodRemovable: NodeView['isPodRemovable'],
  removeOrphanedLogs?: ContainerGCOptions['removeOrphanedLogs'],
): ContainerGC {
  return new ContainerGC({
    runtime,
    logger,
    isPodRemovable,
    clock: systemClock,
    policy: {
      minAgeMs: settings.minimumContainerTTLMs,
      maxPerPodContainer: settings.maximumDeadContainersPerContainer,
      maxContainers: settings.maximumDeadContainers,
    },
    removeContainerLogs: async ({ labels, metadata }) => {
      const pod = podOfLabels(labels);
      await logs.clean(containerLogPath(podLogsDir, pod, metadata.name, metadata.attempt));
    },
    removeOrphanedLogs,
  });
}
