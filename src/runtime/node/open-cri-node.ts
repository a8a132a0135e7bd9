/** Puts a node with a CRI runtime together. Is loaded only where there is such a runtime. */
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { type RuntimeClasses, runtimeClassesOf } from '../../policies/admission/runtime-class.ts';
import { CRASH_LOOP_BACK_OFF } from '../../policies/sync/crash-loop-backoff.ts';
import {
  enforcedAllocatable,
  type Reservations,
  reservesPIDs,
} from '../../policies/node/node-allocatable.ts';
import type { ApiObjects } from '../../types/api-objects.ts';
import type { EventRecorder, NodeEventRecorder } from '../../types/event-recorder.ts';
import type { Logger } from '../../types/logger.ts';
import type { OwnNodeFacts } from '../../types/node-facts.ts';
import type { NodeSettings } from '../../types/node-settings.ts';
import { PodCgroups } from '../cgroups/pod-cgroups.ts';
import { createCriRuntime } from '../cri/cri-runtime.ts';
import { criNode } from './cri-node.ts';
import type { ContainerGC } from '../garbage/container-gc.ts';
import { fileSystemStats } from '../stats/disks/file-systems.ts';
import { type GarbageCollector, startGarbageCollection } from '../garbage/garbage-collector.ts';
import { ImageGC } from '../garbage/image-gc.ts';
import { ImageManager } from '../images/image-manager.ts';
import { createKeyring } from '../images/keyring.ts';
import type { ContainerLogManager } from '../logs/container-log-manager.ts';
import { LogLinks } from '../logs/log-links.ts';
import { PodLogs } from '../logs/pod-logs.ts';
import { readMachineFacts, readMaxPIDs } from './machine-facts.ts';
import { createContainerGC, createLogManager } from './node-upkeep.ts';
import type { NodeParts, NodeView, PodNode } from './pod-node.ts';
import { PodDNSSource } from './pod-dns-source.ts';
import { OOMWatch } from './oom-watch.ts';
import { ResolvConf } from './node-resolv-conf.ts';
import { RuntimeCapabilities } from '../service/runtime-capabilities.ts';
import type { RuntimeService } from '../service/runtime-service.ts';
import { StartTimes } from '../pods/start-times.ts';
import { systemClock } from '../../system/system-clock.ts';
import { UserNamespaces } from './user-namespace-ranges.ts';
import { objectContents } from '../volumes/object-contents.ts';
import { VolumeManager } from '../volumes/volume-manager.ts';

export interface CriNodeSetup {
  /** The runtime's: `unix:///PATH`. */
  readonly endpoint: string;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly nodeName: string;
  readonly hostIPs: readonly string[];
  readonly facts: OwnNodeFacts;
  readonly reservations: Reservations;
  readonly settings: NodeSettings;
  /** Default: those that the settings name. */
  readonly runtimeClasses?: RuntimeClasses;
  /** Without it, no pod may refer to objects of an API server. */
  readonly objects?: ApiObjects;
  readonly recorder: EventRecorder & NodeEventRecorder;
  readonly logger: Logger;
}

interface Parts {
  readonly runtime: RuntimeService;
  readonly cgroups: PodCgroups;
  readonly images: ImageManager;
  readonly logs: ContainerLogManager;
  readonly logLinks: LogLinks;
  readonly capabilities: RuntimeCapabilities;
}

/** Rejects where this machine cannot run pods of a CRI runtime, for example because a cgroup controller is missing. */
export async function openCriNode(setup: CriNodeSetup): Promise<NodeParts> {
  const { endpoint, podLogsDir, settings, recorder, logger } = setup;
  const cgroups = await openCgroups(setup);
  const runtime = createCriRuntime({
    endpoint,
    ...(settings.imageServiceEndpoint && { imageEndpoint: settings.imageServiceEndpoint }),
    requestTimeoutMs: settings.runtimeRequestTimeoutMs,
    logger: { warn: (message) => logger.warn({}, message) },
  });
  const logLinks = new LogLinks({ dir: join(dirname(podLogsDir), 'containers'), logger });
  let pods: NodeView['pods'] = () => [];
  const logs = createLogManager(setup, runtime, () => pods());
  const capabilities = new RuntimeCapabilities(runtime);
  const images = imageManager(setup, runtime);
  const parts = { runtime, cgroups, logs, logLinks, capabilities, images };
  let garbage: GarbageCollector | undefined;
  let oomWatch: OOMWatch | undefined;
  let deleteDeadContainers = () => Promise.resolve();
  let deleteUnusedImages = deleteDeadContainers;
  return {
    runtime: {
      ...runtime,
      status: async (options) => {
        const status = await runtime.status(options);
        capabilities.learn(status);
        return status;
      },
    },
    node: await openPodNode(setup, parts),
    start: (view) => {
      ({ pods } = view);
      logs.start();
      oomWatch = new OOMWatch({ clock: systemClock, recorder, logger });
      const deadContainers = containerGC(setup, parts, view.isPodRemovable);
      const unusedImages = imageGC(setup, parts, view);
      garbage = startGarbageCollection({
        clock: systemClock,
        recorder,
        logger,
        containerGC: deadContainers,
        imageGC: unusedImages,
      });
      // As for the kubelet: dead containers of a pod that goes on stay, since without them the pod would run them again.
      const allDead = containerGC(setup, parts, view.isPodTerminated);
      deleteDeadContainers = () => allDead.collect();
      deleteUnusedImages = async () => {
        await unusedImages.deleteUnusedImages();
      };
    },
    reclaimer: {
      deleteDeadContainers: () => deleteDeadContainers(),
      deleteUnusedImages: () => deleteUnusedImages(),
    },
    stop: async () => {
      oomWatch?.stop();
      await Promise.all([logs.stop(), garbage?.stop()]);
      await runtime.close();
    },
  };
}

async function openCgroups(setup: CriNodeSetup): Promise<PodCgroups> {
  const { facts, reservations, settings, recorder, logger } = setup;
  const { cgroupRoot, cgroupsPerQOS, podPidsLimit, cpuCFSQuota } = settings;
  const cpuCFSQuotaPeriodUs = settings.cpuCFSQuotaPeriodMs * 1000;
  const cgroups = await PodCgroups.open({
    cgroupRoot,
    cgroupsPerQOS,
    podPidsLimit,
    cpuCFSQuota,
    cpuCFSQuotaPeriodUs,
    recorder,
    logger,
    reservesPIDs: reservesPIDs(reservations),
  });
  const capacity = { ...facts.capacity, pid: String(await readMaxPIDs()) };
  await cgroups.setUp(enforcedAllocatable(capacity, reservations));
  return cgroups;
}

function imageManager(
  { rootDir, settings, recorder, logger }: CriNodeSetup,
  runtime: RuntimeService,
): ImageManager {
  const { serializeImagePulls, maxParallelImagePulls, registryPullQPS, registryBurst } = settings;
  return new ImageManager({
    runtime,
    recorder,
    serializeImagePulls,
    maxParallelImagePulls,
    registryPullQPS,
    registryBurst,
    clock: systemClock,
    keyring: createKeyring({ rootDir, homeDir: homedir(), logger }),
    backOff: CRASH_LOOP_BACK_OFF,
  });
}

async function openPodNode(
  setup: CriNodeSetup,
  { cgroups, images, logs, logLinks, capabilities }: Parts,
): Promise<PodNode> {
  const { rootDir, podLogsDir, nodeName, hostIPs, settings, objects, recorder, logger } = setup;
  const { allocatable } = setup.facts;
  const { clusterDNS, clusterDomain, seccompDefault, allowedUnsafeSysctls, cpuCFSQuota } = settings;
  const cgroupVersion = cgroups.version ?? 1;
  const machine = await readMachineFacts(cgroupVersion);
  const containers = {
    ...machine,
    cgroupVersion,
    seccompDefault,
    cpuCFSQuota,
    cpuCFSQuotaPeriodUs: settings.cpuCFSQuotaPeriodMs * 1000,
    seccompProfileRoot: join(rootDir, 'seccomp'),
  };
  return criNode({
    podLogsDir,
    hostIPs,
    hostname: nodeName,
    allocatable,
    containers,
    clusterDomain,
    allowedUnsafeSysctls,
    appArmor: machine.appArmor,
    selinux: machine.selinux,
    runtimeClasses: setup.runtimeClasses ?? runtimeClassesOf(settings.runtimeClasses),
    dns: new PodDNSSource({ clusterDNS, clusterDomain }, new ResolvConf(settings.resolvConf), recorder),
    startTimes: new StartTimes({ podsDir: join(rootDir, 'pods'), logger }),
    users: new UserNamespaces(rootDir),
    cgroups,
    volumes: new VolumeManager({
      rootDir,
      allocatable,
      clusterDomain,
      clock: systemClock,
      recorder,
      logger,
      ...(objects && { contents: objectContents(objects) }),
    }),
    ...(objects && { objects }),
    images,
    capabilities,
    podLogs: new PodLogs(podLogsDir),
    logs,
    logLinks,
  });
}

function containerGC(
  setup: CriNodeSetup,
  parts: Parts,
  isPodRemovable: NodeView['isPodRemovable'],
): ContainerGC {
  return createContainerGC(setup, parts, isPodRemovable, (isInUse) => parts.logLinks.removeDangling(isInUse));
}

function imageGC(
  { settings, recorder, logger }: CriNodeSetup,
  { runtime, images }: Parts,
  { pods }: NodeView,
): ImageGC {
  return new ImageGC({
    mountedImages: () =>
      [...pods()].flatMap(({ containers }) => containers.flatMap(({ mountedImages = [] }) => mountedImages)),
    runtime,
    recorder,
    logger,
    clock: systemClock,
    statfs: fileSystemStats,
    highThresholdPercent: settings.imageGCHighThresholdPercent,
    lowThresholdPercent: settings.imageGCLowThresholdPercent,
    minAgeMs: settings.imageMinimumGCAgeMs,
    maxAgeMs: settings.imageMaximumGCAgeMs,
    onRemoved: (image) => images.forget(image),
  });
}
