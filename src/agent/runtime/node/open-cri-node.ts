/** Puts a node with a CRI runtime together. Is loaded only where there is such a runtime. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type RuntimeClasses, runtimeClassesOf } from '../../policies/cri/sandbox-config.ts';
import type { CredentialProviderConfig } from '../../policies/images/credential-provider-config.ts';
import type { NodeReservations } from '../../policies/node/node-allocatable.ts';
import { idSpace } from '../../policies/security/id-mappings.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { ApiObjects, ResourceClaimObjects, StorageObjects } from '../../../types/api-objects.ts';
import type { CgroupDriverName } from '../../policies/cgroups/cgroup-names.ts';
import type { OwnNodeFacts } from '../../../types/node-facts.ts';
import type { NodeSettings } from '../../../types/node-settings.ts';
import { storedText } from '../../../system/newest-file.ts';
import { once } from '../../../system/promises.ts';
import { openPodCgroups, resourceFacts } from '../cgroups/open-pod-cgroups.ts';
import type { PodCgroups } from '../cgroups/pod-cgroups.ts';
import { namingOOMKills } from '../cgroups/pod-oom-kills.ts';
import { joinCgroup } from '../cgroups/delegation.ts';
import { openTopologyManager } from '../topology/open-topology-manager.ts';
import { DeviceManager } from '../devices/device-manager.ts';
import type { DraNode } from '../dra/dra-node.ts';
import { checkpointIn, DevicesFile } from '../devices/devices-file.ts';
import { createCriRuntime } from '../cri/cri-runtime.ts';
import { criNode } from './cri-node.ts';
import { fileSystemStats } from '../stats/disks/file-systems.ts';
import { ImageGC } from '../garbage/image-gc.ts';
import type { ImageManager } from '../images/image-manager.ts';
import { type Images, openImages } from '../images/open-images.ts';
import type { ContainerLogManager } from '../logs/container-log-manager.ts';
import { LogLinks } from '../logs/log-links.ts';
import { PodLogs } from '../logs/pod-logs.ts';
import { containerFilesLabel, readMachineFacts } from './machine-facts.ts';
import { NodeUpkeep } from './node-upkeep.ts';
import type { CpuAssignments, CpuManager } from '../cpus/cpu-manager.ts';
import type { Machine } from '../cpus/read-topology.ts';
import type { MemoryManager } from '../memory-manager/memory-manager.ts';
import type { NodeParts, NodeView, PodNode, PodSubsystem } from './pod-node.ts';
import { withCgroupDriver } from './runtime-cgroup-driver.ts';
import { PodDNSSource, ResolvConf } from './pod-dns-source.ts';
import { OOMWatch } from './oom-watch.ts';
import { measuredRuntime } from '../service/measured-runtime.ts';
import { RuntimeCapabilities } from '../service/runtime-capabilities.ts';
import type { RuntimeService } from '../service/runtime-service.ts';
import { KnownContainers } from '../pods/known-containers.ts';
import { PodResizer } from '../pods/pod-resizer.ts';
import { StartTimes } from '../pods/start-times.ts';
import { readSubordinateIds, UserNamespaces } from './user-namespace-ranges.ts';
import type { CsiNode } from '../volumes/csi/csi-node.ts';
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
  readonly reservations: NodeReservations;
  readonly settings: NodeSettings;
  /** Default: those that the settings name. */
  readonly runtimeClasses?: RuntimeClasses;
  /** Without it, no pod may refer to objects of an API server. */
  readonly objects?: ApiObjects;
  /** Without it, no CSI driver serves this node. */
  readonly storage?: StorageObjects | undefined;
  /** Without it, no DRA driver serves this node. */
  readonly resourceClaims?: ResourceClaimObjects | undefined;
  /** Plugins that are asked for credentials of registries. */
  readonly credentialProviders?: CredentialProviderConfig;
}

interface Parts {
  readonly runtime: RuntimeService;
  readonly cgroups: PodCgroups;
  readonly images: ImageManager;
  readonly logs: ContainerLogManager;
  readonly logLinks: LogLinks;
  readonly capabilities: RuntimeCapabilities;
  readonly devices: DeviceManager;
  readonly topology: PodSubsystem | undefined;
  readonly cpus: PodSubsystem | undefined;
  readonly ownCpus: CpuAssignments | undefined;
  readonly memory: PodSubsystem | undefined;
  readonly volumes: VolumeManager;
  readonly dra: DraNode | undefined;
}

/** Rejects where this machine cannot run pods of a CRI runtime, for example because a cgroup controller is missing. */
export async function openCriNode(context: AgentContext, setup: CriNodeSetup): Promise<NodeParts> {
  const { podLogsDir, settings } = setup;
  const { logger, measurements } = context;
  joinCgroup(settings.kubeletCgroups, logger);
  const { cpus, memory, openTopology } = await openManagers(context, setup);
  const bare = bareRuntime(context, setup);
  const opened = openPodCgroups(context, setup, await cgroupDriver(bare, settings), cpus);
  // Closes the connection, so that a process that cannot be such a node can end.
  opened.catch(() => bare.close());
  const cgroups = await opened;
  const measured = namingOOMKills(measuredRuntime(bare, measurements), (uid) => cgroups.oomKills(uid));
  const runtime = withCgroupDriver(context, measured, cgroups);
  const logLinks = new LogLinks(context, join(dirname(podLogsDir), 'containers'));
  const capabilities = new RuntimeCapabilities(runtime);
  const devices = openDevices(context, setup);
  const csi = await openCsiNode(context, setup);
  const dra = await openDraNode(context, setup);
  const { plugins, ...ofImages } = await openImages(context, setup, runtime);
  const upkeep = new NodeUpkeep(context, {
    podLogsDir,
    settings,
    runtime,
    removeOrphanedLogs: (isInUse) => logLinks.removeDangling(isInUse),
    imageGC: (view) => imageGC(context, settings, { ...ofImages, runtime }, view),
  });
  const cpusets = cpus && (await openCpusets(context, settings, cpus, runtime));
  const volumes = openVolumes(context, setup, csi);
  let oomWatch: OOMWatch | undefined;
  return {
    runtime: teaching(runtime, capabilities),
    node: await openPodNode(context, setup, {
      runtime,
      cgroups,
      logs: upkeep.logs,
      logLinks,
      capabilities,
      images: ofImages.images,
      devices,
      topology: await openTopology(devices),
      cpus: cpusets?.subsystem,
      ownCpus: cpus,
      memory: memory && (await memoryPart(memory)),
      volumes,
      dra,
    }),
    devices,
    claimedVolume: (uid, volume) => volumes.claimed(uid, volume),
    csi,
    dra,
    cpus,
    memory,
    cgroupDriver: () => cgroups.driver,
    start: (view) => {
      upkeep.start(view);
      devices.start(view);
      dra?.start(view);
      cpusets?.updates.start(view);
      oomWatch = new OOMWatch(context);
    },
    reclaimer: upkeep.reclaimer,
    stop: async () => {
      oomWatch?.stop();
      plugins?.close();
      await devices.stop();
      await cpusets?.updates.stop();
      await upkeep.stop();
      cgroups.close();
      await runtime.close();
    },
  };
}

/** Each status of the runtime has its capabilities. */
function teaching(runtime: RuntimeService, capabilities: RuntimeCapabilities): RuntimeService {
  return {
    ...runtime,
    status: async (options) => {
      const status = await runtime.status(options);
      capabilities.learn(status);
      return status;
    },
  };
}

function openDevices(context: AgentContext, { rootDir }: CriNodeSetup): DeviceManager {
  const folder = join(rootDir, 'device-plugins');
  return new DeviceManager(context, folder, new DevicesFile(checkpointIn(folder), context.logger));
}

async function machineHere(): Promise<Machine> {
  const { readMachine, SYSTEM_DIR } = await import('../cpus/read-topology.ts');
  return readMachine(SYSTEM_DIR);
}

async function openManagers(context: AgentContext, setup: CriNodeSetup) {
  const machine = once(machineHere);
  const cpus = await cpuManager(context, setup, machine);
  const memory = await memoryManager(context, setup);
  const openTopology = (devices: DeviceManager) =>
    openTopologyManager(context, { settings: setup.settings, machine, providers: [devices, cpus, memory] });
  return { cpus, memory, openTopology };
}

/** Its code is loaded only in a cluster. */
async function openCsiNode(
  context: AgentContext,
  { rootDir, nodeName, objects, storage }: CriNodeSetup,
): Promise<CsiNode | undefined> {
  if (objects === undefined || storage === undefined) return undefined;
  const { CsiNode } = await import('../volumes/csi/csi-node.ts');
  const filesLabel = await containerFilesLabel();
  return new CsiNode(context, { rootDir, nodeName, objects, storage, filesLabel });
}

/** Its code is loaded only in a cluster. */
async function openDraNode(
  context: AgentContext,
  { rootDir, resourceClaims: objects }: CriNodeSetup,
): Promise<DraNode | undefined> {
  if (objects === undefined) return undefined;
  const { DraNode } = await import('../dra/dra-node.ts');
  const { CLAIMS_FILE, claimsFile } = await import('../dra/claims-file.ts');
  return new DraNode(context, { objects, file: claimsFile(storedText(join(rootDir, CLAIMS_FILE))) });
}

/** Undefined where containers share all CPUs. */
async function cpuManager(
  { measurements }: AgentContext,
  setup: CriNodeSetup,
  machine: () => Promise<Machine>,
): Promise<CpuManager | undefined> {
  if (setup.settings.cpuManagerPolicy === 'static') {
    const { openCpuManager } = await import('../cpus/open-cpu-manager.ts');
    return openCpuManager({ ...setup, machine }, measurements?.placement);
  }
  // A node that never had a CPU manager does not load its code.
  const file = storedText(join(setup.rootDir, 'cpu_manager_state'));
  if (!existsSync(file.path)) return undefined;
  const { cpuStateFile } = await import('../cpus/cpu-state-file.ts');
  cpuStateFile(file, 'none').read();
  return undefined;
}

/** Undefined where containers have their memory on any NUMA node. */
async function memoryManager(
  { measurements }: AgentContext,
  setup: CriNodeSetup,
): Promise<MemoryManager | undefined> {
  if (setup.settings.memoryManagerPolicy === 'Static') {
    const { openMemoryManager } = await import('../memory-manager/open-memory-manager.ts');
    return openMemoryManager(setup, measurements?.placement);
  }
  // A node that never had a memory manager does not load its code.
  const file = storedText(join(setup.rootDir, 'memory_manager_state'));
  if (!existsSync(file.path)) return undefined;
  const { memoryStateFile } = await import('../memory-manager/memory-state-file.ts');
  memoryStateFile(file, 'None').read();
  return undefined;
}

async function memoryPart(memory: MemoryManager): Promise<PodSubsystem> {
  const { memorySubsystem } = await import('../memory-manager/memory-subsystem.ts');
  return memorySubsystem(memory);
}

/** Updates containers when the shared CPUs change. */
async function openCpusets(
  context: AgentContext,
  { cpuManagerReconcilePeriodMs: periodMs, cpuCFSQuota }: NodeSettings,
  cpus: CpuManager,
  { resizing }: RuntimeService,
) {
  if (!resizing) return undefined;
  const { CpusetUpdates } = await import('../cpus/cpuset-updates.ts');
  const { cpuSubsystem } = await import('../cpus/cpu-subsystem.ts');
  const cpusetOf = (uid: string, name: string) => cpus.cpusetOf(uid, name);
  const updates = new CpusetUpdates(context, { runtime: resizing, cpusetOf, periodMs });
  cpus.onShared = () => updates.update();
  return { updates, subsystem: cpuSubsystem(cpus, updates, cpuCFSQuota) };
}

/** At the start, for a runtime that does not answer. */
const PATIENCE_MS = 2_000;

/** As the runtime reports it. If the runtime is down, or does not report it: as configured, until it does. */
async function cgroupDriver(runtime: RuntimeService, settings: NodeSettings): Promise<CgroupDriverName> {
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const status = await runtime.status({ signal, asksCgroupDriver: true }).catch(() => undefined);
  const driver = status?.cgroupDriver;
  return driver?.isReported === true ? driver.name : settings.cgroupDriver;
}

function bareRuntime(context: AgentContext, { endpoint, settings }: CriNodeSetup): RuntimeService {
  return createCriRuntime(context, {
    endpoint,
    // Empty: the same as the runtime's.
    imageEndpoint: settings.imageServiceEndpoint || undefined,
    requestTimeoutMs: settings.runtimeRequestTimeoutMs,
  });
}

async function openPodNode(context: AgentContext, setup: CriNodeSetup, parts: Parts): Promise<PodNode> {
  const { cgroups, runtime, ownCpus } = parts;
  const { rootDir, podLogsDir, nodeName, hostIPs, settings, objects } = setup;
  const { allocatable, capacity } = setup.facts;
  const ids = idSpace(settings.idsPerPod, Number(capacity.pods ?? 0), await readSubordinateIds());
  const { clusterDNS, clusterDomain, seccompDefault, allowedUnsafeSysctls } = settings;
  const cgroupVersion = cgroups.version ?? 1;
  const machine = await readMachineFacts(cgroupVersion);
  const podsDir = join(rootDir, 'pods');
  const containers = {
    ...resourceFacts(setup, cgroupVersion, machine),
    seccompDefault,
    seccompProfileRoot: join(rootDir, 'seccomp'),
  };
  const knownContainers = new KnownContainers(context, podsDir);
  return criNode({
    ...parts,
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
    dns: new PodDNSSource(context, { clusterDNS, clusterDomain }, new ResolvConf(settings.resolvConf)),
    startTimes: new StartTimes(context, podsDir),
    knownContainers,
    resizer:
      runtime.resizing &&
      new PodResizer({
        runtime: runtime.resizing,
        cgroups,
        facts: containers,
        known: knownContainers,
        cpus: ownCpus,
        hasOwnMemory: settings.memoryManagerPolicy === 'Static',
      }),
    users: new UserNamespaces(rootDir, ids),
    objects,
    podLogs: new PodLogs(podLogsDir),
  });
}

function openVolumes(context: AgentContext, setup: CriNodeSetup, csi: CsiNode | undefined): VolumeManager {
  const { rootDir, objects, settings, facts } = setup;
  const { allocatable, labels } = facts;
  return new VolumeManager(context, {
    rootDir,
    allocatable,
    clusterDomain: settings.clusterDomain,
    csi,
    givesDevices: true,
    contents: objects && objectContents(objects),
    claims: objects && new ClaimedVolumes({ objects, nodeLabels: () => objects.nodeLabels() ?? labels }),
  });
}

function imageGC(
  context: AgentContext,
  settings: NodeSettings,
  { runtime, images, records }: Pick<Images, 'images' | 'records'> & Pick<NodeParts, 'runtime'>,
  { pods }: NodeView,
): ImageGC {
  return new ImageGC(context, {
    mountedImages: () =>
      [...pods()].flatMap(({ containers }) => containers.flatMap(({ mountedImages = [] }) => mountedImages)),
    runtime,
    statfs: fileSystemStats,
    highThresholdPercent: settings.imageGCHighThresholdPercent,
    lowThresholdPercent: settings.imageGCLowThresholdPercent,
    minAgeMs: settings.imageMinimumGCAgeMs,
    maxAgeMs: settings.imageMaximumGCAgeMs,
    onRemoved: (image) => images.forget(image),
    onRemaining: (present, listedAt) => records.prune(present, listedAt),
  });
}
