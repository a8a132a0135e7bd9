import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { containerConfig, withAdditions } from '../agent/policies/cri/container-config.ts';
import { containerLogPath, podOfLogsFolder } from '../agent/policies/cri/cri-labels.ts';
import { imageText } from '../agent/policies/cri/found-runtimes.ts';
import { podSandboxConfig } from '../agent/policies/cri/sandbox-config.ts';
import type { ResourceList } from '../agent/policies/pod/resources.ts';
import { embeddedLimits, unsupportedFields } from '../agent/policies/pod/unsupported-fields.ts';
import { usedVolumes } from '../agent/policies/volumes/volume-source.ts';
import { commandResolver } from '../agent/runtime/node/node-addresses.ts';
import type { AgentContext } from '../types/agent-context.ts';
import type { ApiObjects } from '../types/api-objects.ts';
import { StateletError } from '../types/errors.ts';
import type { EmbeddedVolumes } from '../types/node-settings.ts';
import type { ContainerLogManager } from '../agent/runtime/logs/container-log-manager.ts';
import { PodLogs } from '../agent/runtime/logs/pod-logs.ts';
import { NodeUpkeep, type UpkeepSettings } from '../agent/runtime/node/node-upkeep.ts';
import { objectSubsystem } from '../agent/runtime/pods/object-subsystem.ts';
import {
  additionsOf,
  composeNode,
  type NodeAdditions,
  podOfUID,
  RESOURCE_CLAIMS,
} from '../agent/runtime/node/compose-node.ts';
import type { NodeParts, PodDetails, PodNode, PodSubsystem } from '../agent/runtime/node/pod-node.ts';
import { cgroupSubsystem, processSubsystem } from '../agent/runtime/node/cgroup-subsystems.ts';
import { measuredRuntime } from '../agent/runtime/service/measured-runtime.ts';
import { ifThere } from '../system/system-errors.ts';
import { KnownContainers } from '../agent/runtime/pods/known-containers.ts';
import { StartTimes } from '../agent/runtime/pods/start-times.ts';
import { podPaths } from '../agent/runtime/volumes/pod-paths.ts';
import type { ProcessCgroups } from './process-cgroups.ts';
import type { ProcessVolumes } from './mounts/process-volumes.ts';
import { noCommand } from './containers/container-spec.ts';
import type { Finding } from './monitor/findings.ts';
import { createProcessRuntime } from './process-runtime.ts';

/**
 * The host of probes and hooks that name none. A pod's address is that of the node, but a plain process often listens
 * on the loopback address alone; a process that listens on all addresses answers there as well.
 */
const LOOPBACK = '127.0.0.1';

/** The reason of an event. The kubelet has none for it: its runtime keeps the records. */
const DAMAGED_RECORD = 'DamagedRecord';

/** In the folder of a pod, and only there. */
const NAMES_OF_CRI: readonly string[] = ['volumes', 'volume-subpaths', 'containers', 'claims', 'etc-hosts'];

export interface ProcessNodeSetup {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly hostIPs: readonly string[];
  readonly allocatable?: ResourceList;
  /** The domain of pods with a subdomain ends in it. */
  readonly clusterDomain?: string;
  /** Without it, variables cannot refer to objects of an API server, and there are none for services. */
  readonly objects?: ApiObjects | undefined;
  /** How long a call to the runtime may take. */
  readonly requestTimeoutMs?: number;
  /** Without them, logs are not rotated, and dead containers stay until their pod is synced. */
  readonly settings?: UpkeepSettings;
  /** `ignore`: pods run as if they had no volumes. Default: `mount`. */
  readonly embeddedVolumes?: EmbeddedVolumes;
  /** Without them pods have no limits. */
  readonly cgroups?: ProcessCgroups | undefined;
}

/** The embedded runtime. */
export function openProcessNode(context: AgentContext, setup: ProcessNodeSetup): NodeParts {
  const { rootDir, podLogsDir, hostIPs, settings, requestTimeoutMs } = setup;
  const warn = (message: string): void => context.logger.warn({}, message);
  const bare = createProcessRuntime({
    rootDir,
    hostIPs,
    logger: { warn },
    requestTimeoutMs,
    onFinding: (finding) => tellFinding(context, finding),
  });
  const runtime = measuredRuntime(bare, context.measurements);
  const podsDir = join(rootDir, 'pods');
  const startTimes = new StartTimes(context, podsDir);
  const knownContainers = new KnownContainers(context, podsDir);
  const upkeep = settings && new NodeUpkeep(context, { podLogsDir, settings, runtime });
  let volumes: ProcessVolumes | undefined;
  const open = volumesOpener(context, setup);
  const openOnce = open && (async () => (volumes = await open()));
  const parts = { podsDir, startTimes, knownContainers, volumes: openOnce };
  return {
    runtime,
    node: processNode({ ...setup, ...parts, logs: upkeep?.logs }),
    claimedVolume: (uid, volume) => volumes?.claimed(uid, volume),
    start: (view) => upkeep?.start(view),
    reclaimer: upkeep?.reclaimer,
    cgroupRoot: setup.cgroups?.root,
    stop: async () => {
      await upkeep?.stop();
      await runtime.close();
      setup.cgroups?.close();
    },
  };
}

function volumesOpener(context: AgentContext, setup: ProcessNodeSetup): ProcessPodNodeOptions['volumes'] {
  const { rootDir, embeddedVolumes, clusterDomain = '', allocatable = {}, objects } = setup;
  if (embeddedVolumes === 'ignore') return undefined;
  return async () => {
    const { openProcessVolumes } = await import('./mounts/process-volumes.ts');
    return openProcessVolumes(context, { rootDir, clusterDomain, allocatable, objects });
  };
}

/** The log has what events say, too. */
function tellFinding({ recorder, logger }: AgentContext, { message, pod, container }: Finding): void {
  if (pod === undefined) logger.warn({}, message);
  else
    recorder.event(
      pod,
      'Warning',
      DAMAGED_RECORD,
      message,
      container === undefined ? undefined : { container },
    );
}

export interface ProcessPodNodeOptions {
  readonly hostIPs: readonly string[];
  readonly podLogsDir: string;
  /** Where pods of agents with another runtime may have left their folders. */
  readonly podsDir?: string;
  readonly clusterDomain?: string;
  /** Without it, a pod's start time is not kept over a restart of the agent. */
  readonly startTimes?: StartTimes;
  /** Without it, nothing is remembered of containers. */
  readonly knownContainers?: KnownContainers;
  /** What `resourceFieldRef` gives for the limits of a container that has none. */
  readonly allocatable?: ResourceList | undefined;
  readonly objects?: ApiObjects | undefined;
  /** Opens what serves volumes; without it, they have no effect. */
  readonly volumes?: (() => Promise<ProcessVolumes>) | undefined;
  readonly cgroups?: Pick<ProcessCgroups, 'cgroups' | 'facts'> | undefined;
  /** Without it, the logs of an instance stay until its pod is removed. */
  readonly logs?: Pick<ContainerLogManager, 'clean'>;
}

/** Plain processes have no images: the node fills in what they are to run, and has their volumes mounted. */
export function processNode(options: ProcessPodNodeOptions): PodNode {
  const podLogs = new PodLogs(options.podLogsDir);
  const subsystems = processSubsystems(options, podLogs);
  return composeNode(subsystems, processPodDetails(options, podLogs, additionsOf(subsystems)));
}

function processSubsystems(
  {
    podLogsDir,
    podsDir,
    startTimes,
    knownContainers,
    objects,
    logs,
    volumes,
    cgroups,
    allocatable = {},
  }: ProcessPodNodeOptions,
  podLogs: PodLogs,
): readonly PodSubsystem[] {
  const isRoot = process.getuid?.() === 0;
  const limits = embeddedLimits({
    isRoot,
    hasVolumes: volumes !== undefined,
    hasCgroups: cgroups !== undefined,
    allocatable,
  });
  return [
    RESOURCE_CLAIMS,
    ...(podsDir === undefined ? [] : [foreignFolders(podsDir)]),
    { name: 'fields', unsupportedFields: (pod) => unsupportedFields(pod, limits) },
    ...(cgroups ? [cgroupSubsystem(cgroups.cgroups)] : []),
    objectSubsystem(objects),
    ...(volumes && podsDir !== undefined ? [volumesSubsystem(podsDir, volumes)] : []),
    {
      name: 'start times',
      remove: async ({ uid }) => startTimes?.remove(uid),
      podsOnDisk: async ({ isKnown }) => ((await startTimes?.podsOnDisk(isKnown)) ?? []).map(podOfUID),
    },
    { name: 'known containers', remove: async ({ uid }) => knownContainers?.remove(uid) },
    {
      name: 'logs',
      removing: async (pod, { name, restartCount }) =>
        logs?.clean(containerLogPath(podLogsDir, pod, name, restartCount)),
      remove: (pod) => podLogs.remove(pod),
      podsOnDisk: async ({ isThorough, isKnown }, recorded) =>
        isThorough ? podLogs.pods(isKnown, recorded) : [],
    },
    ...(cgroups ? [processSubsystem(cgroups.cgroups)] : []),
  ];
}

async function withRuntimesFound(problem: string): Promise<StateletError> {
  const { findRuntimes } = await import('../agent/runtime/cri/find-runtimes.ts');
  return new StateletError('InvalidArgument', `${problem}; ${imageText(await findRuntimes())}`);
}

/** What serves the volumes is loaded with the first pod that has some. */
function volumesSubsystem(podsDir: string, open: () => Promise<ProcessVolumes>): PodSubsystem {
  let opened: Promise<ProcessVolumes> | undefined;
  const volumes = () => (opened ??= open());
  return {
    name: 'volumes',
    prepare: async (pod, signal) => {
      if (usedVolumes(pod).length === 0) return;
      await (await volumes()).prepare(pod, signal);
    },
    sandbox: async ({ metadata }) => ({ groups: (await opened)?.groupsOf(metadata.uid) ?? [] }),
    container: async ({ pod, container }, envs) => {
      if (!container.volumeMounts?.length) return {};
      return { mounts: await (await volumes()).mountsOf(pod, container, envs) };
    },
    release: async (uid) => {
      const paths = podPaths(podsDir, uid);
      if ((await ifThere(stat(paths.volumesDir))) !== undefined) {
        // An agent before this one may have set them up, with another runtime, whose containers run on.
        const { refuseUsedFolder } = await import('../agent/runtime/volumes/remove-pod-folder.ts');
        await refuseUsedFolder(uid, paths);
      } else if (opened === undefined) return;
      await (await volumes()).release(uid);
    },
  };
}

/** What an agent with a CRI runtime has left of pods in the same root folder: volumes and more, which no pod has here. */
function foreignFolders(podsDir: string): PodSubsystem {
  const namesIn = async (folder: string) => (await ifThere(readdir(folder))) ?? [];
  const isForeign = async (uid: string) =>
    (await namesIn(join(podsDir, uid)).catch(() => [])).some((name) => NAMES_OF_CRI.includes(name));
  return {
    name: 'folders of a CRI runtime',
    remove: async ({ uid }) => {
      if (!(await isForeign(uid))) return;
      // Few agents need it, and those once.
      const { removeForeignPodFolder } = await import('../agent/runtime/volumes/remove-pod-folder.ts');
      await removeForeignPodFolder(uid, podPaths(await realpath(podsDir), uid));
    },
    podsOnDisk: async ({ isKnown }) => {
      const uids = (await namesIn(podsDir)).filter(
        (name) => podOfLogsFolder(name) === undefined && !isKnown(name),
      );
      const foreign = await Promise.all(uids.map(isForeign));
      return uids.filter((_, index) => foreign[index]).map(podOfUID);
    },
  };
}

function processPodDetails(
  {
    podLogsDir,
    clusterDomain = '',
    hostIPs,
    startTimes,
    knownContainers,
    allocatable = {},
    objects,
    cgroups,
  }: ProcessPodNodeOptions,
  podLogs: PodLogs,
  additions: NodeAdditions,
): PodDetails {
  const resolveCommand = commandResolver(hostIPs, allocatable, objects);
  return {
    recallContainers: (uid) => void knownContainers?.recall(uid),
    knownContainer: (uid, containerId) => knownContainers?.of(uid, containerId),
    rememberContainer: async (...known) => knownContainers?.note(...known),
    startTime: (uid, now) => startTimes?.of(uid, now) ?? Promise.resolve(now),
    sandbox: async (pod, attempt) => {
      const { cgroupParent } = await additions.sandbox(pod);
      return {
        config: podSandboxConfig(pod, attempt, { podLogsDir, clusterDomain, cgroupParent }),
      };
    },
    // There is no image to name a user: a container that names none runs as the agent's.
    image: (_pod, { image = '' }) => Promise.resolve({ imageRef: image, uid: process.getuid?.() ?? 0 }),
    container: async (request) => {
      const { pod, container, attempt, podStatus, image } = request;
      const resolved = await resolveCommand(pod, container, podStatus);
      const added = await additions.container(request, resolved.envs);
      const config = containerConfig({
        pod,
        container,
        attempt,
        resolved,
        imageUser: image,
        resources: cgroups?.facts,
      });
      const problem = noCommand(config);
      if (problem !== undefined) throw await withRuntimesFound(problem);
      return added.reduce(withAdditions, config);
    },
    pastInstances: (pod, containerName) => podLogs.pastInstances(pod, containerName),
    podIP: () => LOOPBACK,
  };
}
