/** What a node with a CRI runtime puts around the containers of its pods. */
import { join } from 'node:path';
import { containerLogPath, podOfLogsFolder } from '../../policies/cri/cri-labels.ts';
import { appArmorRejection } from '../../policies/security/apparmor.ts';
import { sysctlRejection } from '../../policies/security/sysctls.ts';
import { promiseOf } from '../../system/promises.ts';
import type { ContainerLogManager } from '../logs/container-log-manager.ts';
import type { LogLinks } from '../logs/log-links.ts';
import { composeNode, podOfUID } from './compose-node.ts';
import { CriPodDetails, type CriPodDetailsOptions } from './cri-pod-details.ts';
import { objectSubsystem } from '../pods/object-subsystem.ts';
import { orPrepareError, type PodNode, PrepareError, type PodSubsystem } from './pod-node.ts';
import { RESOURCE_CLAIMS } from './resource-claims.ts';

export interface CriNodeOptions extends CriPodDetailsOptions {
  readonly allowedUnsafeSysctls: readonly string[];
  /** Whether the kernel enforces AppArmor. */
  readonly appArmor: boolean;
  readonly logs: ContainerLogManager;
  readonly logLinks: LogLinks;
}

export function criNode(options: CriNodeOptions): PodNode {
  return composeNode(criSubsystems(options), new CriPodDetails(options));
}

/**
 * In the order in which a pod is prepared; it is released and removed in the reverse order. Processes end before anything is removed.
 * Logs go next: that helps on a full disk, whatever may fail afterwards. Volumes are made of objects, which are forgotten once the volumes
 * are gone. The ids of the pod's user namespace are free once nothing of the pod runs or is mounted. The folder that has their record goes
 * when all else is gone.
 */
function criSubsystems(options: CriNodeOptions): readonly PodSubsystem[] {
  const { allowedUnsafeSysctls, appArmor, images } = options;
  return [
    { name: 'sysctls', rejection: (pod) => sysctlRejection(pod, allowedUnsafeSysctls) },
    { name: 'AppArmor', rejection: (pod) => appArmorRejection(pod, appArmor) },
    {
      name: 'images',
      forgetImage: (image) => images.forget(image),
      collectGarbage: () => images.collectGarbage(),
    },
    { name: 'start times', remove: ({ uid }) => options.startTimes.remove(uid) },
    { name: 'container memory', remove: ({ uid }) => options.containerMemory.remove(uid) },
    RESOURCE_CLAIMS,
    podFolders(options),
    { name: 'user namespaces', release: (uid) => options.users.release(uid) },
    cgroups(options),
    objectSubsystem(options.objects),
    volumes(options),
    { name: 'DNS', remove: ({ uid }) => promiseOf(() => options.dns.forget(uid)) },
    logLinks(options),
    logs(options),
    processes(options),
  ];
}

function podFolders({ volumes }: CriNodeOptions): PodSubsystem {
  return {
    name: 'pod folders',
    remove: ({ uid }) => volumes.unmountPod(uid),
    podsOnDisk: async () => {
      const names = await volumes.podsOnDisk();
      // `podLogsDir` may be the same folder.
      return names.filter((name) => podOfLogsFolder(name) === undefined).map(podOfUID);
    },
  };
}

function cgroups({ cgroups }: CriNodeOptions): PodSubsystem {
  return {
    name: 'cgroups',
    prepare: (pod) => orPrepareError('FailedCreatePodContainer', () => cgroups.prepare(pod)),
    release: (uid) => cgroups.release(uid),
    podsOnDisk: async ({ isThorough }) => (await cgroups.podsOnDisk(isThorough)).map(podOfUID),
  };
}

/** Of a pod that the runtime does not have. They end before its volumes are unmounted, which they may be using. */
function processes({ cgroups }: CriNodeOptions): PodSubsystem {
  return { name: 'processes', remove: ({ uid }) => cgroups.endProcesses(uid) };
}

function volumes({ volumes }: CriNodeOptions): PodSubsystem {
  return {
    name: 'volumes',
    prepare: async (pod, signal) => {
      await volumes.mountPod(pod, signal).catch((error: unknown) => {
        throw new PrepareError('FailedMount', error, true);
      });
    },
    release: (uid) => volumes.releaseVolumes(uid),
  };
}

/** Comes before the logs in the list: of a pod that is removed, only links whose log is gone are removed. */
function logLinks({ logLinks }: CriNodeOptions): PodSubsystem {
  return {
    name: 'log links',
    created: (pod, containerId, config, logDirectory) =>
      logLinks.create(pod, config.metadata.name, containerId, join(logDirectory, config.logPath)),
    removing: (pod, { id, name }) => promiseOf(() => logLinks.remove(pod, name, id)),
    remove: (pod) => promiseOf(() => logLinks.removeOf(pod)),
  };
}

function logs({ podLogsDir, podLogs, logs }: CriNodeOptions): PodSubsystem {
  return {
    name: 'logs',
    removing: (pod, { name, restartCount }) =>
      logs.clean(containerLogPath(podLogsDir, pod, name, restartCount)),
    remove: (pod) => podLogs.remove(pod),
    podsOnDisk: async ({ isThorough, isKnown }, recorded) =>
      isThorough ? podLogs.pods(isKnown, recorded) : [],
  };
}
