import { resolveCommand } from '../../agent/policies/cri/container-env.ts';
import { containerConfig, withAdditions } from '../../agent/policies/cri/container-config.ts';
import { podCgroupResources } from '../../agent/policies/cgroups/cgroup-resources.ts';
import { type ContainerResourceFacts, containerResources } from '../../agent/policies/cri/linux-resources.ts';
import { podSandboxConfig } from '../../agent/policies/cri/sandbox-config.ts';
import { StateletError } from '../../types/errors.ts';
import type { CpuAssignments } from '../../agent/runtime/cpus/cpu-manager.ts';
import { type ImageManager, imageSubsystem } from '../../agent/runtime/images/image-manager.ts';
import {
  ImageError,
  type PodDetails,
  type PodNode,
  type PodSubsystem,
  type Resizer,
} from '../../agent/runtime/node/pod-node.ts';
import {
  additionsOf,
  composeNode,
  type NodeAdditions,
  podOfUID,
} from '../../agent/runtime/node/compose-node.ts';
import { objectSubsystem, readServerFacts } from '../../agent/runtime/pods/object-subsystem.ts';
import type { RuntimeService } from '../../agent/runtime/service/runtime-service.ts';
import { PodResizer } from '../../agent/runtime/pods/pod-resizer.ts';
import type { ContainerConfig } from '../../types/cri.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { KnownContainer } from '../../types/runtime-pod.ts';
import { folderOf } from './simulated-disk.ts';
import { NodeFaultDraws } from './node-fault-draws.ts';
import { simulatedVolumes, type SimulatedVolumesOptions, stepOf } from './simulated-volumes.ts';

export interface SimulatedNodeOptions extends SimulatedVolumesOptions {
  readonly runtime: RuntimeService;
  /** Managers of devices, CPUs and memory. */
  readonly managers?: readonly PodSubsystem[];
  /** The work of drivers for pods, once their other volumes are set up. */
  readonly drivers?: readonly PodSubsystem[];
  readonly cpus?: CpuAssignments | undefined;
  readonly hasOwnMemory?: boolean;
  /** Without it, a missing image is pulled at once, without an event. */
  readonly images?: ImageManager;
  /** A container is about to be created. */
  readonly onContainer?: (pod: Pod, config: ContainerConfig) => void;
  /** The pod's folder is removed. */
  readonly onRemove?: (uid: string) => void;
}

/** What pods need on a simulated node beside their containers: volumes that may fail, images that are pulled. */
export function simulatedNode(options: SimulatedNodeOptions): PodNode {
  const faults = new NodeFaultDraws(options);
  const volumes = simulatedVolumes(options, faults);
  const { managers = [], drivers = [], images, objects } = options;
  const ofImages = images ? [imageSubsystem(images)] : [];
  const others = [podFolders(options), objectSubsystem(objects), volumes, ...drivers];
  const subsystems = [...managers, ...ofImages, ...others];
  return composeNode(subsystems, podDetails(options, faults, additionsOf(subsystems)));
}

function podFolders({ disk, onRemove }: Pick<SimulatedNodeOptions, 'disk' | 'onRemove'>): PodSubsystem {
  return {
    name: 'pod folders',
    created: ({ uid }, _containerId, { metadata }) => {
      folderOf(disk, uid).instances.set(metadata.name, metadata.attempt + 1);
    },
    remove: ({ uid }) => {
      onRemove?.(uid);
      disk.delete(uid);
      return Promise.resolve();
    },
    podsOnDisk: () => Promise.resolve([...disk.keys()].map(podOfUID)),
  };
}

function podDetails(
  options: SimulatedNodeOptions,
  faults: NodeFaultDraws,
  additions: NodeAdditions,
): PodDetails {
  const { disk, images, objects } = options;
  return {
    startTime: async (uid, now) => {
      await stepOf(options);
      return (folderOf(disk, uid).startTime ??= now);
    },
    recallContainers: () => undefined,
    knownContainer: (uid, containerId) => disk.get(uid)?.known.get(containerId) ?? {},
    rememberContainer: (...known) => remember(options, ...known),
    resizer: resizerOf(options),
    sandbox: (pod, attempt) =>
      Promise.resolve({ config: podSandboxConfig(pod, attempt, { podLogsDir: '/var/log/pods' }) }),
    image: images ? (...request) => images.ensureImage(...request) : imagePuller(options, faults),
    container: async (request) => {
      const { pod, container, attempt, image } = request;
      const facts = { podIPs: [], hostIPs: [], allocatable: {} };
      const ofServer = await readServerFacts(objects, pod, container);
      const resolved = resolveCommand(pod, container, { ...facts, ...ofServer });
      const added = await additions.container(request, resolved.envs);
      const config = containerConfig({ pod, container, attempt, resolved, imageRef: image.imageRef });
      const resources = containerResources(pod, container, RESOURCE_FACTS);
      const whole = added.reduce(withAdditions, { ...config, linux: { ...config.linux, resources } });
      options.onContainer?.(pod, whole);
      return whole;
    },
    pastInstances: ({ uid }, containerName) => disk.get(uid)?.instances.get(containerName) ?? 0,
    podIP: ({ spec }, { sandboxes: [sandbox] }) => (spec.hostNetwork === true ? '127.0.0.1' : sandbox?.ip),
  };
}

const CGROUPS = { podPidsLimit: -1, cpuCFSQuota: true, cpuCFSQuotaPeriodUs: 100_000 };
const RESOURCE_FACTS: ContainerResourceFacts = {
  ...CGROUPS,
  cgroupVersion: 2,
  hugePageSizes: [],
  swapController: false,
  memoryCapacityBytes: 2 ** 33,
  swapCapacityBytes: 0,
};

/** The agent's own resizer. No container uses so much memory that a limit would be below it. */
function resizerOf(options: SimulatedNodeOptions): Resizer | undefined {
  const { runtime, disk, cpus, hasOwnMemory = false } = options;
  return (
    runtime.resizing &&
    new PodResizer({
      runtime: runtime.resizing,
      cpus,
      hasOwnMemory,
      facts: RESOURCE_FACTS,
      cgroups: {
        resourcesOf: (pod) => podCgroupResources(pod, CGROUPS),
        resize: () => stepOf(options),
        memoryUsage: () => 0,
      },
      known: {
        allocation: (uid) => disk.get(uid)?.allocation,
        allocate: async (uid, allocation) => {
          await stepOf(options);
          const folder = disk.get(uid);
          if (folder) folder.allocation = allocation;
        },
        note: (uid, containerId, known) => remember(options, uid, containerId, known),
        written: () => stepOf(options),
      },
    })
  );
}

async function remember(
  options: SimulatedNodeOptions,
  uid: string,
  containerId: string,
  known: KnownContainer,
): Promise<void> {
  await stepOf(options);
  const all = options.disk.get(uid)?.known;
  all?.set(containerId, { ...all.get(containerId), ...known });
}

function imagePuller({ runtime }: SimulatedNodeOptions, faults: NodeFaultDraws): PodDetails['image'] {
  return async ({ metadata: { uid } }, { image = '' }, sandboxConfig, signal) => {
    try {
      const known = await runtime.imageStatus(image, { signal });
      if (known !== undefined) return { imageRef: known.id };
      if (faults.happens('pull', uid)) throw new StateletError('Unavailable', 'the registry did not answer');
      return { imageRef: await runtime.pullImage(image, { sandboxConfig, signal }) };
    } catch (error) {
      signal.throwIfAborted();
      const cause = error instanceof StateletError ? error : new StateletError('Internal', String(error));
      throw new ImageError('ErrImagePull', cause.message, { kind: cause.kind, cause });
    }
  };
}
