import { join } from 'node:path';
import { type EnvFile, type FileKeyRef, unreadableEnvFile } from '../../policies/cri/container-env.ts';
import type { ClaimedVolume } from '../../policies/volumes/claimed-volume.ts';
import { namesOf } from '../../policies/volumes/projected-files.ts';
import { usedVolumes } from '../../policies/volumes/volume-source.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { ClaimedVolumes } from './claimed-volumes.ts';
import { ContainerMounts, type ContainerMountsParts } from './container-mounts.ts';
import { AttachLimit } from './csi/attach-limit.ts';
import { downwardAPIContents } from './kinds/volume-contents.ts';
import type { VolumeNode } from './kinds/volume-kind.ts';
import { podPaths, type PodPaths } from './pod-paths.ts';
import { PodVolumes } from './pod-volumes.ts';
import { removePodFolder, removeVolumes } from './remove-pod-folder.ts';
import { readInVolume } from './safe-open.ts';
import { machineDisk, type VolumeDisk } from './volume-disk.ts';

/** More than the kernel would pass to a process. */
const ENV_FILE_MAX_BYTES = 1024 * 1024;

export interface VolumeManagerParts
  extends
    Omit<ContainerMountsParts, 'isLabelled' | 'pathsOf'>,
    Pick<VolumeNode, 'allocatable' | 'csi' | 'givesDevices'> {
  readonly rootDir: string;
  /** Sources of files beside `downwardAPI`. */
  readonly contents?: VolumeNode['contents'];
  readonly claims?: ClaimedVolumes;
  /** Default: that of the machine. */
  readonly disk?: VolumeDisk;
}

/**
 * The files of pods below `<rootDir>/pods/<uid>`: volumes, `/etc/hosts`, termination messages. What it keeps in memory only
 * spares work: it finds files and mounts of an earlier agent on the disk and in the kernel. Calls for one pod must not overlap.
 */
export class VolumeManager {
  /** What containers get of the files of their pod. */
  readonly mounts: ContainerMounts;
  readonly #context: AgentContext;
  readonly #parts: VolumeManagerParts;
  readonly #volumes: PodVolumes;
  readonly #limit: AttachLimit;
  readonly #disk: VolumeDisk;
  #podsDir: string | undefined;

  constructor(context: AgentContext, parts: VolumeManagerParts) {
    this.#context = context;
    this.#parts = parts;
    this.#disk = parts.disk ?? machineDisk;
    const contents = new Map([...(parts.contents ?? []), ['downwardAPI', downwardAPIContents] as const]);
    const { allocatable, csi, givesDevices, withoutMounts, claims } = parts;
    const node = { ...context, allocatable, contents, csi, givesDevices, withoutMounts };
    const volumes = new PodVolumes(context, { node, claims, disk: this.#disk });
    this.#volumes = volumes;
    this.#limit = new AttachLimit(context, { csi, claims, unmounted: (pod) => volumes.unmounted(pod) });
    const isLabelled = (uid: string, volume: string) => volumes.isLabelled(uid, volume);
    this.mounts = new ContainerMounts(context, {
      ...parts,
      isLabelled,
      pathsOf: (uid) => this.#pathsOf(uid),
    });
  }

  /**
   * Before the first container of the pod starts, and on every sync: sets up the volumes that its containers mount, and updates
   * the files that the agent writes into them. Each failure becomes an event. Rejects if a volume could not be set up, after two
   * minutes at the latest. A set-up that hangs goes on; the next call and the removal of the volumes wait for it. As with the
   * kubelet, only the first set-up of a volume is needed: files that cannot be brought up to date stay as they are.
   */
  async mountPod(pod: Pod, signal: AbortSignal): Promise<void> {
    const mount = async () => this.#volumes.mount(pod, await this.#pathsOf(pod.metadata.uid), signal);
    await this.#limit.enforce(pod, mount, signal);
  }

  /** The PersistentVolume of the volume's claim; undefined for a volume without a claim, and while it is not known. */
  claimed(uid: string, volume: string): ClaimedVolume | undefined {
    return this.#parts.claims?.of(uid, volume);
  }

  /** Groups that the pod's volumes give its containers. `mountPod` must have resolved. */
  groupsOf(uid: string): readonly number[] {
    return this.#parts.claims?.groupsOf(uid) ?? [];
  }

  /**
   * A file of an emptyDir from which variables of a container are read. Errors must not reveal other files of the node to the
   * pod.
   */
  async envFile(pod: Pod, { volumeName, path }: FileKeyRef): Promise<EnvFile> {
    if (!usedVolumes(pod).some(({ name }) => name === volumeName)) {
      const message = `cannot find the volume "${volumeName}" referenced by FileKeyRef`;
      return { problem: new StateletError('NotFound', message) };
    }
    const folder = (await this.#pathsOf(pod.metadata.uid)).volume('emptyDir', volumeName);
    try {
      const text = await readInVolume(folder, namesOf(path), ENV_FILE_MAX_BYTES);
      return { path: join(folder, path), text };
    } catch (error) {
      const what = `${path} of volume ${volumeName}`;
      this.#context.logger.warn(podFields(pod.metadata), `cannot read ${what}: ${errorMessage(error)}`);
      return {
        problem: unreadableEnvFile(`${what} must be a plain file in the volume, of no more than 1 MiB`),
      };
    }
  }

  /**
   * After the pod is Terminated, never before: removes its volumes. Termination messages stay until the
   * pod is forgotten. Rejects where something stays mounted. An unknown UID is no error.
   */
  async releaseVolumes(uid: string): Promise<void> {
    await this.#letRest(uid);
    const paths = await this.#pathsOnDisk(uid);
    if (paths === undefined) {
      this.#parts.claims?.forget(uid);
      return;
    }
    const end = this.#volumes.meter.unmounting(uid);
    try {
      await removeVolumes(uid, paths, { disk: this.#disk, csi: this.#parts.csi });
      end?.('success');
      this.#parts.claims?.forget(uid);
    } catch (error) {
      end?.('failure');
      throw error;
    }
  }

  /**
   * Once the pod is forgotten: unmounts everything below the pod's folder and removes the folder. Rejects where something stays
   * mounted, and leaves the folder for the next try. An unknown UID is no error.
   */
  async unmountPod(uid: string): Promise<void> {
    await this.#letRest(uid);
    const paths = await this.#pathsOnDisk(uid);
    if (paths === undefined) return;
    await removePodFolder(uid, paths, { disk: this.#disk, csi: this.#parts.csi });
  }

  /** UIDs of the pods that have a folder here. */
  async podsOnDisk(): Promise<readonly string[]> {
    return this.#disk.subfolderNames(join(this.#parts.rootDir, 'pods'));
  }

  /** Undefined where the pod has no folder. Makes no folder: pods must be removable on a full disk. */
  async #pathsOnDisk(uid: string): Promise<PodPaths | undefined> {
    const { podDir } = podPaths(join(this.#parts.rootDir, 'pods'), uid);
    return (await this.#disk.exists(podDir)) ? this.#pathsOf(uid) : undefined;
  }

  async #pathsOf(uid: string): Promise<PodPaths> {
    if (this.#podsDir === undefined) {
      const podsDir = join(this.#parts.rootDir, 'pods');
      await this.#disk.makeFolder(podsDir);
      // The name by which the kernel lists it among mounts.
      this.#podsDir = await this.#disk.realpath(podsDir);
    }
    return podPaths(this.#podsDir, uid, this.#parts.withoutMounts?.memoryDir);
  }

  async #letRest(uid: string): Promise<void> {
    await this.#volumes.letRest(uid);
    this.#limit.forget(uid);
  }
}
