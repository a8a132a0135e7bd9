/** The subsystems of a node with a CRI runtime. */
import { promiseOf } from '../../../system/promises.ts';
import { join } from 'node:path';
import { knownRuntimeHandler } from '../../policies/cri/sandbox-config.ts';
import { podHostname } from '../../policies/network/pod-hostname.ts';
import { containerLogPath, podOfLogsFolder } from '../../policies/cri/cri-labels.ts';
import { appArmorRejection } from '../../policies/security/apparmor.ts';
import { sysctlRejection } from '../../policies/security/sysctls.ts';
import type { DeviceManager } from '../devices/device-manager.ts';
import { deviceSubsystem } from '../devices/device-subsystem.ts';
import { claimSubsystem } from '../dra/claim-subsystem.ts';
import type { DraNode } from '../dra/dra-node.ts';
import type { PodCgroups } from '../cgroups/pod-cgroups.ts';
import { cgroupSubsystem, processSubsystem } from './cgroup-subsystems.ts';
import type { PodDNSSource } from './pod-dns-source.ts';
import type { ContainerLogManager } from '../logs/container-log-manager.ts';
import { imageSubsystem } from '../images/image-manager.ts';
import type { LogLinks } from '../logs/log-links.ts';
import { additionsOf, composeNode, podOfUID, RESOURCE_CLAIMS } from './compose-node.ts';
import {
  CriPodDetails,
  type CriPodDetailsOptions,
  downwardAddresses,
  imageVolumesProblem,
} from './cri-pod-details.ts';
import { objectSubsystem } from '../pods/object-subsystem.ts';
import { type PodNode, PrepareError, type PodSubsystem } from './pod-node.ts';

export interface CriNodeOptions extends CriPodDetailsOptions {
  /** The node's name: the host name of pods on the node's network. */
  readonly hostname: string;
  /** The domain of pods with a subdomain ends in it; may be empty. */
  readonly clusterDomain: string;
  readonly dns: PodDNSSource;
  readonly cgroups: PodCgroups;
  readonly allowedUnsafeSysctls: readonly string[];
  /** Whether the kernel enforces AppArmor. */
  readonly appArmor: boolean;
  readonly devices: DeviceManager;
  /** Undefined where no DRA driver can serve this node. */
  readonly dra?: DraNode | undefined;
  readonly logs: ContainerLogManager;
  readonly logLinks: LogLinks;
  /** Only of a node that gives devices, CPUs or memory to containers. */
  readonly topology?: PodSubsystem | undefined;
  /** Only of a node with a CPU manager. */
  readonly cpus?: PodSubsystem | undefined;
  /** Only of a node with a memory manager. */
  readonly memory?: PodSubsystem | undefined;
}

export function criNode(options: CriNodeOptions): PodNode {
  const subsystems = criSubsystems(options);
  return composeNode(subsystems, new CriPodDetails(options, additionsOf(subsystems)));
}

/**
 * In the order in which a pod is prepared; it is released and removed in the reverse order. Processes end before anything is removed. Logs go next:
 * that helps on a full disk, whatever may fail afterwards. Volumes are made of objects, which are forgotten once the volumes are gone. The ids of
 * the pod's user namespace are free once nothing of the pod runs or is mounted. The folder that has their record goes when all else is gone. A pod
 * gets devices, CPUs and memory when no other subsystem rejects it; they are free when its containers have ended. Drivers may need what is mounted
 * for a pod: claims are prepared after volumes, and unprepared before.
 */
function criSubsystems(options: CriNodeOptions): readonly PodSubsystem[] {
  const { allowedUnsafeSysctls, appArmor, images, topology, cpus, memory, dra } = options;
  return [
    { name: 'sysctls', admit: (pod) => sysctlRejection(pod, allowedUnsafeSysctls) },
    { name: 'AppArmor', admit: (pod) => appArmorRejection(pod, appArmor) },
    ...(topology ? [topology] : []),
    ...[cpus, memory].filter((part) => part !== undefined),
    imageSubsystem(images),
    { name: 'start times', remove: ({ uid }) => options.startTimes.remove(uid) },
    { name: 'known containers', remove: ({ uid }) => options.knownContainers.remove(uid) },
    deviceSubsystem(options.devices),
    podFolders(options),
    { name: 'user namespaces', release: (uid) => options.users.release(uid) },
    cgroupSubsystem(options.cgroups),
    objectSubsystem(options.objects),
    volumes(options),
    dra ? claimSubsystem(dra) : RESOURCE_CLAIMS,
    hostsFile(options),
    dns(options),
    logLinks(options),
    logs(options),
    processSubsystem(options.cgroups),
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

function volumes({ volumes, capabilities, runtimeClasses }: CriNodeOptions): PodSubsystem {
  return {
    name: 'volumes',
    sandbox: ({ metadata }) => ({ groups: volumes.groupsOf(metadata.uid) }),
    container: async ({ pod, container, image }, envs) => {
      const problem = await imageVolumesProblem(capabilities, pod, container);
      if (problem) throw problem;
      const features = capabilities.of(knownRuntimeHandler(pod, runtimeClasses));
      const env = new Map(envs.map(({ key, value }) => [key, value]));
      const supportsRecursiveReadOnly = features.recursiveReadOnlyMounts;
      const request = { pod, container, env, images: image.volumes, supportsRecursiveReadOnly };
      const devices = await volumes.mounts.devices(request);
      return { mounts: await volumes.mounts.of(request), ...(devices.length > 0 && { devices }) };
    },
    prepare: async (pod, signal) => {
      await volumes.mountPod(pod, signal).catch((error: unknown) => {
        throw new PrepareError('FailedMount', error, true);
      });
    },
    release: (uid) => volumes.releaseVolumes(uid),
  };
}

function hostsFile({ volumes, hostIPs, hostname, clusterDomain }: CriNodeOptions): PodSubsystem {
  return {
    name: 'hosts file',
    container: async ({ pod, container, podStatus }) => {
      const name = pod.spec.hostNetwork === true ? hostname : podHostname(pod, clusterDomain);
      const { podIPs } = downwardAddresses(pod, podStatus, hostIPs);
      return { mounts: await volumes.mounts.hosts({ pod, container, podIPs, hostname: name }) };
    },
  };
}

function dns({ dns }: CriNodeOptions): PodSubsystem {
  return {
    name: 'DNS',
    sandbox: async (pod) => ({ dns: await dns.of(pod) }),
    remove: ({ uid }) => promiseOf(() => dns.forget(uid)),
  };
}

/** Comes before the logs in the list: of a pod that is removed, only links whose log is gone are removed. */
function logLinks({ logLinks }: CriNodeOptions): PodSubsystem {
  const link: PodSubsystem['created'] = (pod, containerId, config, logDirectory) =>
    logLinks.create(pod, config.metadata.name, containerId, join(logDirectory, config.logPath));
  return {
    name: 'log links',
    created: link,
    // The agent that created it may have ended before this step.
    reused: link,
    removing: (pod, { id, name }) => promiseOf(() => logLinks.remove(pod, name, id)),
    remove: (pod) => promiseOf(() => logLinks.removeOf(pod)),
  };
}

function logs({ podLogsDir, podLogs, logs }: CriNodeOptions): PodSubsystem {
  return {
    name: 'logs',
    // CRI-O makes no folder for a log.
    container: async ({ pod, container }) => {
      await podLogs.makeFolder(pod.metadata, container.name);
      return {};
    },
    removing: (pod, { name, restartCount }) =>
      logs.clean(containerLogPath(podLogsDir, pod, name, restartCount)),
    remove: (pod) => podLogs.remove(pod),
    podsOnDisk: async ({ isThorough, isKnown }, recorded) =>
      isThorough ? podLogs.pods(isKnown, recorded) : [],
  };
}
