/** Puts a node with a CRI runtime together. Is loaded only where there is such a runtime. */
import { dirname, join } from 'node:path';
import { type RuntimeClasses, runtimeClassesOf } from '../../policies/cri/sandbox-config.ts';
import { memoryFacts, memoryQoSOf, memorySettingsWithoutEffect } from '../../policies/cri/memory-facts.ts';
import type { CredentialProviderConfig } from '../../policies/images/credential-provider-config.ts';
import {
  enforcedAllocatable,
  type Reservations,
  reservedGroups,
  reservesPIDs,
} from '../../policies/node/node-allocatable.ts';
import { idSpace } from '../../policies/security/id-mappings.ts';
import type { ApiObjects } from '../../../types/api-objects.ts';
import { type ErrorKind, StateletError } from '../../../types/errors.ts';
import type { EventRecorder, NodeEventRecorder } from '../../../types/event-recorder.ts';
import type { Logger } from '../../../types/logger.ts';
import type { CgroupDriverName } from '../../policies/cgroups/cgroup-names.ts';
import type { NodeMeasurements } from '../../../types/measurements.ts';
import type { OwnNodeFacts } from '../../../types/node-facts.ts';
import type { NodeSettings } from '../../../types/node-settings.ts';
import { PodCgroups } from '../cgroups/pod-cgroups.ts';
import { namingOOMKills } from '../cgroups/pod-oom-kills.ts';
import { joinCgroup } from '../cgroups/delegation.ts';
import { createCriRuntime } from '../cri/cri-runtime.ts';
import { criNode } from './cri-node.ts';
import type { ContainerGC } from '../garbage/container-gc.ts';
import { fileSystemStats } from '../stats/disks/file-systems.ts';
import { type GarbageCollector, startGarbageCollection } from '../garbage/garbage-collector.ts';
import { ImageGC } from '../garbage/image-gc.ts';
import type { ImageManager } from '../images/image-manager.ts';
import type { ImageRecords } from '../images/image-records.ts';
import { openImages } from '../images/open-images.ts';
import type { ContainerLogManager } from '../logs/container-log-manager.ts';
import { LogLinks } from '../logs/log-links.ts';
import { PodLogs } from '../logs/pod-logs.ts';
import { readMachineFacts, readMaxPIDs } from './machine-facts.ts';
import { createContainerGC, createLogManager } from './node-upkeep.ts';
import type { NodeParts, NodeView, PodNode } from './pod-node.ts';
import { withCgroupDriver } from './runtime-cgroup-driver.ts';
import { PodDNSSource, ResolvConf } from './pod-dns-source.ts';
import { OOMWatch } from './oom-watch.ts';
import { measuredRuntime } from '../service/measured-runtime.ts';
import { RuntimeCapabilities } from '../service/runtime-capabilities.ts';
import type { RuntimeService } from '../service/runtime-service.ts';
import { KnownContainers } from '../pods/known-containers.ts';
import { StartTimes } from '../pods/start-times.ts';
import { systemClock } from '../../../system/timer.ts';
import { readSubordinateIds, UserNamespaces } from './user-namespace-ranges.ts';
import { ClaimedVolumes } from '../volumes/claimed-volumes.ts';
import { objectContents } from '../volumes/kinds/volume-contents.ts';
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
  /** Plugins that are asked for credentials of registries. */
  readonly credentialProviders?: CredentialProviderConfig;
  readonly measurements?: NodeMeasurements;
  readonly recorder: EventRecorder & NodeEventRecorder;
  readonly logger: Logger;
}

interface Parts {
  readonly runtime: RuntimeService;
  readonly cgroups: PodCgroups;
  readonly images: ImageManager;
  readonly records: ImageRecords;
  readonly logs: ContainerLogManager;
  readonly logLinks: LogLinks;
  readonly capabilities: RuntimeCapabilities;
}

/** Rejects where this machine cannot run pods of a CRI runtime, for example because a cgroup controller is missing. */
export async function openCriNode(setup: CriNodeSetup): Promise<NodeParts> {
  const { podLogsDir, settings, recorder, logger, measurements } = setup;
  joinCgroup(settings.kubeletCgroups, logger);
  const bare = bareRuntime(setup);
  const opened = openCgroups(setup, await cgroupDriver(bare, settings));
  // A process that cannot be such a node ends at once.
  opened.catch(() => bare.close());
  const cgroups = await opened;
  const measured = namingOOMKills(measuredRuntime(bare, measurements), (uid) => cgroups.oomKills(uid));
  const runtime = withCgroupDriver({ runtime: measured, cgroups, logger });
  const logLinks = new LogLinks({ dir: join(dirname(podLogsDir), 'containers'), logger });
  let pods: NodeView['pods'] = () => [];
  const logs = createLogManager(setup, runtime, () => pods());
  const capabilities = new RuntimeCapabilities(runtime);
  const { images, records, plugins } = await openImages(
    { ...setup, measurements: measurements?.images },
    runtime,
  );
  const parts = { runtime, cgroups, logs, logLinks, capabilities, images, records };
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
    cgroupDriver: () => cgroups.driver,
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
      plugins?.close();
      await Promise.all([logs.stop(), garbage?.stop()]);
      cgroups.close();
      await runtime.close();
    },
  };
}

/** At the start, for a runtime that does not answer. */
const PATIENCE_MS = 2_000;
/** systemd does not answer now. */
const SYSTEMD_WAITS: readonly ErrorKind[] = ['Unavailable', 'DeadlineExceeded'];

/** As the runtime tells. A runtime that is down, or does not tell it: as configured, until it tells. */
async function cgroupDriver(runtime: RuntimeService, settings: NodeSettings): Promise<CgroupDriverName> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const status = await runtime.status({ signal, asksCgroupDriver: true }).catch(() => undefined);
  const told = status?.cgroupDriver;
  return told?.isTold === true ? told.name : settings.cgroupDriver;
}

function bareRuntime({ endpoint, settings, logger, measurements }: CriNodeSetup): RuntimeService {
  return createCriRuntime({
    measurements: measurements?.pleg,
    endpoint,
    ...(settings.imageServiceEndpoint && { imageEndpoint: settings.imageServiceEndpoint }),
    requestTimeoutMs: settings.runtimeRequestTimeoutMs,
    logger: { warn: (message) => logger.warn({}, message) },
  });
}

async function openCgroups(setup: CriNodeSetup, driver: CgroupDriverName): Promise<PodCgroups> {
  const { facts, reservations, settings, recorder, logger, measurements } = setup;
  const { cgroupRoot, cgroupsPerQOS, podPidsLimit, cpuCFSQuota } = settings;
  const cpuCFSQuotaPeriodUs = settings.cpuCFSQuotaPeriodMs * 1000;
  const cgroups = await PodCgroups.open({
    driver,
    cgroupRoot,
    cgroupsPerQOS,
    podPidsLimit,
    cpuCFSQuota,
    cpuCFSQuotaPeriodUs,
    memoryQoS: memoryQoSOf(settings),
    recorder,
    logger,
    measurements,
    reservesPIDs: reservesPIDs(reservations),
    reserved: reservedGroups(settings, reservations),
  });
  const capacity = { ...facts.capacity, pid: String(await readMaxPIDs()) };
  try {
    const limitsPods = settings.enforceNodeAllocatable.includes('pods');
    await cgroups.setUp(limitsPods ? enforcedAllocatable(capacity, reservations) : capacity);
  } catch (error) {
    // It is tried again for each pod.
    if (!(error instanceof StateletError && SYSTEMD_WAITS.includes(error.kind))) {
      cgroups.close();
      throw error;
    }
    logger.warn({}, `Pods wait for their cgroups: ${error.message}`);
  }
  for (const message of memorySettingsWithoutEffect(settings, cgroups.version ?? 1)) logger.warn({}, message);
  return cgroups;
}

async function openPodNode(
  setup: CriNodeSetup,
  { cgroups, images, logs, logLinks, capabilities }: Parts,
): Promise<PodNode> {
  const { rootDir, podLogsDir, nodeName, hostIPs, settings, objects, recorder, logger, measurements } = setup;
  const { allocatable, labels, capacity } = setup.facts;
  const ids = idSpace(settings.idsPerPod, Number(capacity.pods ?? 0), await readSubordinateIds());
  const { clusterDNS, clusterDomain, seccompDefault, allowedUnsafeSysctls, cpuCFSQuota } = settings;
  const cgroupVersion = cgroups.version ?? 1;
  const machine = await readMachineFacts(cgroupVersion);
  const ofPods = enforcedAllocatable(capacity, setup.reservations);
  const { pageSizeBytes } = machine;
  const containers = {
    ...machine,
    ...memoryFacts(settings, { cgroupVersion, pageSizeBytes, allocatable: ofPods }),
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
    knownContainers: new KnownContainers({ podsDir: join(rootDir, 'pods'), logger }),
    users: new UserNamespaces(rootDir, ids),
    cgroups,
    volumes: new VolumeManager({
      rootDir,
      allocatable,
      clusterDomain,
      clock: systemClock,
      recorder,
      logger,
      contents: objects && objectContents(objects),
      claims: objects && new ClaimedVolumes({ objects, nodeLabels: () => objects.nodeLabels() ?? labels }),
      measurements,
    }),
    objects,
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
  { settings, recorder, logger, measurements }: CriNodeSetup,
  { runtime, images, records }: Parts,
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
    measurements: measurements?.images,
    onRemoved: (image) => images.forget(image),
    onRemaining: (present, listedAt) => records.prune(present, listedAt),
  });
}
