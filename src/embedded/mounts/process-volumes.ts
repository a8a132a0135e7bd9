/** Volumes of pods of plain processes. Is loaded with the first pod that has any. */
import { createHash } from 'node:crypto';
import { chmod, lstat, realpath, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type ClaimedVolume, kindName } from '../../agent/policies/volumes/claimed-volume.ts';
import { ClaimedVolumes } from '../../agent/runtime/volumes/claimed-volumes.ts';
import { objectContents } from '../../agent/runtime/volumes/kinds/volume-contents.ts';
import type { ContainerMountsRequest } from '../../agent/runtime/volumes/container-mounts.ts';
import { orPrepareError, PrepareError } from '../../agent/runtime/node/pod-node.ts';
import { VolumeManager } from '../../agent/runtime/volumes/volume-manager.ts';
import { usedVolumes, type Volume } from '../../agent/policies/volumes/volume-source.ts';
import type { ResourceList } from '../../agent/policies/pod/resources.ts';
import { makeFolder } from '../../system/make-folder.ts';
import type { KeyValue, Mount } from '../../types/cri.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { ApiObjects } from '../../types/api-objects.ts';
import { StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { mountProblem } from './mount-namespace.ts';

export interface ProcessVolumesOptions {
  readonly rootDir: string;
  readonly clusterDomain: string;
  readonly allocatable: ResourceList;
  /** Without it, pods cannot have volumes of objects. */
  readonly objects: ApiObjects | undefined;
  /** Of the Node object, where no API server says it. */
  readonly nodeLabels?: Readonly<Record<string, string>>;
}

const IGNORE = '--embedded-volumes=ignore runs pods as if they had none';

/** The volumes of an agent with the embedded runtime. */
export async function openProcessVolumes(
  context: AgentContext,
  options: ProcessVolumesOptions,
): Promise<ProcessVolumes> {
  const { objects, nodeLabels = {} } = options;
  const memoryDir = isRoot() ? undefined : await ownMemoryDir(options.rootDir);
  const manager = new VolumeManager(context, {
    ...options,
    contents: objects && objectContents(objects),
    claims: objects && new ClaimedVolumes({ objects, nodeLabels: () => objects.nodeLabels() ?? nodeLabels }),
    ...(!isRoot() && { withoutMounts: memoryDir === undefined ? {} : { memoryDir } }),
  });
  return new ProcessVolumes(manager, isRoot() || memoryDir !== undefined);
}

export class ProcessVolumes {
  readonly #manager: VolumeManager;
  readonly #hasMemory: boolean;
  /** Whether mounting was possible once. */
  #mayMount = false;

  constructor(manager: VolumeManager, hasMemory: boolean) {
    this.#manager = manager;
    this.#hasMemory = hasMemory;
  }

  /** Sets the volumes of the pod up. Rejects with a PrepareError where this agent cannot give them to a process. */
  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    await orPrepareError('FailedMount', async () => {
      for (const volume of usedVolumes(pod)) this.#check(volume);
      await this.#requireNamespaces();
    });
    await this.#manager.mountPod(pod, signal).catch((error: unknown) => {
      throw new PrepareError('FailedMount', error, true);
    });
  }

  mountsOf(
    pod: Pod,
    container: ContainerMountsRequest['container'],
    envs: readonly KeyValue[],
  ): Promise<readonly Mount[]> {
    const env = new Map(envs.map(({ key, value }) => [key, value]));
    return this.#manager.mounts.of({ pod, container, env });
  }

  claimed(uid: string, volume: string): ClaimedVolume | undefined {
    return this.#manager.claimed(uid, volume);
  }

  groupsOf(uid: string): readonly number[] {
    return this.#manager.groupsOf(uid);
  }

  release(uid: string): Promise<void> {
    return this.#manager.releaseVolumes(uid);
  }

  async #requireNamespaces(): Promise<void> {
    if (this.#mayMount) return;
    const problem = await mountProblem();
    if (problem !== undefined) throw cannotMount(problem);
    this.#mayMount = true;
  }

  #check(volume: Volume): void {
    if (volume.image !== undefined)
      throw refused(volume, 'an image is not to be had without a CRI runtime (see docs/nginx.md)');
    if (isRoot() || volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined) return;
    const medium = volume.emptyDir?.medium ?? '';
    if (medium !== '')
      throw refused(volume, `emptyDir.medium ${medium} needs an agent that runs as root: leave medium out`);
    if (isSecret(volume) && !this.#hasMemory)
      throw refused(
        volume,
        'there is no folder in memory to keep it off the disk: set XDG_RUNTIME_DIR, or mount a tmpfs at /dev/shm',
      );
  }
}

function isSecret(volume: Volume): boolean {
  const kind = kindName({ volume, claimed: undefined });
  return kind === 'secret' || kind === 'projected' || kind === 'downwardAPI';
}

function refused({ name }: Volume, problem: string): StateletError {
  return new StateletError('FailedPrecondition', `volume "${name}" cannot be mounted: ${problem}`);
}

function cannotMount(problem: string): StateletError {
  const who = isRoot() ? 'root' : 'a user who is not root, for which the kernel has to allow user namespaces';
  return new StateletError(
    'FailedPrecondition',
    `the pod has volumes, and this agent cannot mount them for a plain process: ${problem} (as ${who}); see ` +
      `docs/embedded.md#volumes, or: ${IGNORE}`,
  );
}

const isRoot = (): boolean => process.getuid?.() === 0;

const TMPFS_MAGIC = 0x01021994;
const PRIVATE = 0o700;

/**
 * A folder in memory that belongs to this user alone, for what must not be on a disk: another user than root can mount no tmpfs outside of a
 * namespace. Undefined where there is none.
 */
async function ownMemoryDir(rootDir: string): Promise<string | undefined> {
  const uid = process.getuid?.() ?? 0;
  const name = createHash('sha256')
    .update(await realpath(rootDir))
    .digest('hex')
    .slice(0, 16);
  const { XDG_RUNTIME_DIR = '' } = process.env;
  const bases = [
    ...(XDG_RUNTIME_DIR === '' ? [] : [join(XDG_RUNTIME_DIR, 'statelet')]),
    `/dev/shm/statelet-${uid}`,
  ];
  for (const base of bases) {
    if (await isPrivateMemory(base, uid)) return join(base, name);
  }
  return undefined;
}

/** Makes the folder. False where it is not in memory, or another user's. */
async function isPrivateMemory(folder: string, uid: number): Promise<boolean> {
  try {
    await makeFolder(folder, PRIVATE);
    const stats = await lstat(folder);
    if (!stats.isDirectory() || stats.uid !== uid) return false;
    if ((stats.mode & 0o777) !== PRIVATE) await chmod(folder, PRIVATE);
    return (await statfs(folder)).type === TMPFS_MAGIC;
  } catch {
    return false;
  }
}
