import { containerConfig } from '../../policies/cri/container-config.ts';
import { podSandboxConfig } from '../../policies/cri/sandbox-config.ts';
import { StateletError } from '../../types/errors.ts';
import { ImageError } from '../../runtime/images/image-error.ts';
import { composeNode, podOfUID } from '../../runtime/node/compose-node.ts';
import {
  type PodDetails,
  type PodNode,
  type PodSubsystem,
  PrepareError,
} from '../../runtime/node/pod-node.ts';
import type { RuntimeService } from '../../runtime/service/runtime-service.ts';

/** What a simulated node has of a pod on its disk. The next agent on the node finds it. */
interface PodFolder {
  startTime?: string;
  mounted: boolean;
  /** Unix ms. */
  mountedAt: number;
  /** By container name: how many instances have logs. */
  readonly instances: Map<string, number>;
}

export type SimulatedDisk = Map<string, PodFolder>;

/** Probabilities, from 0 to 1, that a step of the node itself fails. */
export interface NodeFaults {
  readonly mount: number;
  readonly release: number;
  readonly pull: number;
}

export interface SimulatedNodeOptions {
  readonly runtime: RuntimeService;
  readonly disk: SimulatedDisk;
  readonly now: () => number;
  /** In [0, 1), by the key. */
  readonly random: (key: string) => number;
  readonly faults: () => NodeFaults;
  /** The release of the pod's volumes begins. It may still fail. */
  readonly onRelease?: (uid: string) => void;
  /** Whether the agent still lives: a killed one changes nothing on the disk any more. */
  readonly isAlive?: () => boolean;
}

/** What a simulated node puts around the containers of its pods: volumes that may fail, images that are pulled. */
export function simulatedNode(options: SimulatedNodeOptions): PodNode {
  const faults = new Faults(options);
  return composeNode([podFolders(options), volumes(options, faults)], podDetails(options, faults));
}

function podFolders({ disk }: SimulatedNodeOptions): PodSubsystem {
  return {
    name: 'pod folders',
    created: ({ uid }, _containerId, { metadata }) => {
      folderOf(disk, uid).instances.set(metadata.name, metadata.attempt + 1);
    },
    remove: ({ uid }) => {
      disk.delete(uid);
      return Promise.resolve();
    },
    podsOnDisk: () => Promise.resolve([...disk.keys()].map(podOfUID)),
  };
}

function volumes(options: SimulatedNodeOptions, faults: Faults): PodSubsystem {
  const { disk, now, onRelease } = options;
  return {
    name: 'volumes',
    prepare: async ({ metadata: { uid } }, signal) => {
      await stepOf(options);
      const folder = folderOf(disk, uid);
      if (folder.mounted) return;
      signal.throwIfAborted();
      if (faults.happens('mount', uid))
        throw new PrepareError('FailedMount', new Error('the disk did not answer'));
      folder.mounted = true;
      folder.mountedAt = now();
    },
    release: async (uid) => {
      onRelease?.(uid);
      await stepOf(options);
      if (faults.happens('release', uid)) throw new StateletError('Internal', 'the volume is busy');
      const folder = disk.get(uid);
      if (folder !== undefined) folder.mounted = false;
    },
  };
}

function podDetails(options: SimulatedNodeOptions, faults: Faults): PodDetails {
  const { disk } = options;
  return {
    startTime: async (uid, now) => {
      await stepOf(options);
      return (folderOf(disk, uid).startTime ??= now);
    },
    sandbox: (pod, attempt) =>
      Promise.resolve({ config: podSandboxConfig(pod, attempt, { podLogsDir: '/var/log/pods' }) }),
    image: imagePuller(options, faults),
    container: ({ pod, container, attempt, image: { imageRef } }) => {
      const { command = [], args = [] } = container;
      const resolved = { command, args, envs: [] };
      return Promise.resolve(containerConfig({ pod, container, attempt, resolved, imageRef }));
    },
    pastInstances: ({ uid }, containerName) => disk.get(uid)?.instances.get(containerName) ?? 0,
    podIP: ({ spec }, { sandboxes: [sandbox] }) => (spec.hostNetwork === true ? '127.0.0.1' : sandbox?.ip),
  };
}

function imagePuller({ runtime }: SimulatedNodeOptions, faults: Faults): PodDetails['image'] {
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

/** Of an agent that has been killed, it never ends. */
async function stepOf({ isAlive }: SimulatedNodeOptions): Promise<void> {
  await Promise.resolve();
  if (isAlive?.() === false) await new Promise(() => undefined);
}

function folderOf(disk: SimulatedDisk, uid: string): PodFolder {
  const folder = disk.get(uid) ?? { mounted: false, mountedAt: 0, instances: new Map<string, number>() };
  disk.set(uid, folder);
  return folder;
}

/** Whether a fault happens to a pod: of the same seed, the same each time that it is asked for the nth time. */
class Faults {
  readonly #options: Pick<SimulatedNodeOptions, 'faults' | 'random'>;
  readonly #asked = new Map<string, number>();

  constructor(options: Pick<SimulatedNodeOptions, 'faults' | 'random'>) {
    this.#options = options;
  }

  happens(fault: keyof NodeFaults, uid: string): boolean {
    const probability = this.#options.faults()[fault];
    if (probability === 0) return false;
    const ordinal = (this.#asked.get(`${fault} ${uid}`) ?? 0) + 1;
    this.#asked.set(`${fault} ${uid}`, ordinal);
    return this.#options.random(`${uid}/${fault}/${String(ordinal)}`) < probability;
  }
}
