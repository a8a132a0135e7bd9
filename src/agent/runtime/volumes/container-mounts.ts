/** What a container mounts: its volumes, `/etc/hosts`, and the file for its termination message. */
import { constants } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { named } from '../../policies/formats/lookups.ts';
import { ETC_HOSTS_PATH, etcHosts, mountsEtcHosts } from '../../policies/network/pod-hostname.ts';
import { kindName } from '../../policies/volumes/claimed-volume.ts';
import { mountPlan } from '../../policies/volumes/volume-mounts.ts';
import type { VolumeMount } from '../../policies/volumes/volume-source.ts';
import { makeFolder } from '../../../system/make-folder.ts';
import { readPlainFile } from '../../../system/plain-file.ts';
import { ifThere } from '../../../system/system-errors.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { Device, Mount } from '../../../types/cri.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { ClaimedVolumes } from './claimed-volumes.ts';
import type { WithoutMounts } from './kinds/volume-kind.ts';
import { kindOf } from './kinds/volume-kinds.ts';
import { shareMounts } from './mounter.ts';
import { type PodPaths, PRIVATE_FOLDER_MODE } from './pod-paths.ts';
import { bindSubPath, pathInVolume } from './sub-path.ts';

const HOSTS_BYTES_MAX = 1024 * 1024;

export interface TerminationMountRequest {
  readonly pod: Pod;
  readonly container: Container | EphemeralContainer;
  readonly attempt: number;
}

export interface ContainerMountsRequest extends Omit<TerminationMountRequest, 'attempt'> {
  /** The container's resolved environment. */
  readonly env: ReadonlyMap<string, string>;
  /** The runtime's ids of images that are mounted as volumes, by the names of the volumes. */
  readonly images?: ReadonlyMap<string, string>;
  /** Whether the runtime can make a mount and all mounts below it read-only. Default: no. */
  readonly supportsRecursiveReadOnly?: boolean;
}

export interface HostsMountRequest extends Omit<TerminationMountRequest, 'attempt'> {
  readonly podIPs: readonly string[];
  readonly hostname: string;
}

export interface ContainerMountsParts {
  /** The domain of pods with a subdomain ends in it; may be empty. */
  readonly clusterDomain: string;
  readonly withoutMounts?: WithoutMounts;
  /** Without it, pods cannot have claims. */
  readonly claims?: Pick<ClaimedVolumes, 'of'>;
  /** Whether a volume, by its name, is mounted with a label of SELinux: the runtime must not label its files. */
  readonly isLabelled: (uid: string, volume: string) => boolean;
  readonly pathsOf: (uid: string) => Promise<PodPaths>;
}

export class ContainerMounts {
  readonly #context: AgentContext;
  readonly #parts: ContainerMountsParts;

  constructor(context: AgentContext, parts: ContainerMountsParts) {
    this.#context = context;
    this.#parts = parts;
  }

  /**
   * Its volumes, which must have been set up. Rejects with a StateletError where a mount is not possible as the container asks for it. Also
   * makes the folder for its termination messages.
   */
  async of(request: ContainerMountsRequest): Promise<readonly Mount[]> {
    const paths = await this.#parts.pathsOf(request.pod.metadata.uid);
    const mounts: Mount[] = [];
    for (const [index, mount] of (request.container.volumeMounts ?? []).entries()) {
      mounts.push(await this.#volumeMount(request, paths, mount, index));
    }
    if (messagePath(request) !== '')
      await makeFolder(paths.terminationDir(request.container.name), PRIVATE_FOLDER_MODE);
    return mounts;
  }

  /** The block devices of its volumes. */
  async devices({
    pod,
    container,
  }: Pick<ContainerMountsRequest, 'pod' | 'container'>): Promise<readonly Device[]> {
    const paths = await this.#parts.pathsOf(pod.metadata.uid);
    return (container.volumeDevices ?? []).map(({ name, devicePath }) => {
      const claimed = this.#parts.claims?.of(pod.metadata.uid, name);
      if (claimed?.isBlock !== true || claimed.source.kind === 'hostPath') {
        const message = `cannot find volume "${name}" to pass into container "${container.name}"`;
        throw new StateletError('InvalidArgument', message);
      }
      const { link } = paths.device(claimed.source.kind, claimed.name);
      return { hostPath: link, containerPath: devicePath, permissions: claimed.readOnly ? 'r' : 'mrw' };
    });
  }

  /** Makes an empty file for the termination message of an instance that is about to be created. */
  async termination(request: TerminationMountRequest): Promise<readonly Mount[]> {
    const containerPath = messagePath(request);
    if (containerPath === '') return [];
    const paths = await this.#parts.pathsOf(request.pod.metadata.uid);
    const file = await makeTerminationFile(paths.terminationDir(request.container.name), request.attempt);
    return [fileMount(containerPath, file)];
  }

  async #volumeMount(
    { pod, container, env, images, supportsRecursiveReadOnly = false }: ContainerMountsRequest,
    paths: PodPaths,
    mount: VolumeMount,
    index: number,
  ): Promise<Mount> {
    const volume = named(pod.spec.volumes ?? [], mount.name);
    if (!volume) {
      const message = `cannot find volume "${mount.name}" to mount into container "${container.name}"`;
      throw new StateletError('InvalidArgument', message);
    }
    const claimed = this.#parts.claims?.of(pod.metadata.uid, volume.name);
    const found = { pod, volume, claimed, paths };
    const kind = kindOf(found);
    const plan = mountPlan(claimed?.readOnly ? { ...mount, readOnly: true } : mount, {
      container,
      kind: kindName(found),
      env,
      supportsRecursiveReadOnly,
    });
    const isLabelled = this.#parts.isLabelled(pod.metadata.uid, volume.name);
    const whole = isLabelled ? { ...plan, selinuxRelabel: false } : plan;
    if (kind.mount) return kind.mount(found, whole, images?.get(volume.name) ?? '');
    const { subPath, ...mounted } = whole;
    const folder = kind.folder?.(found) ?? '';
    if (kind.isOfPod && mounted.propagation !== 'PROPAGATION_PRIVATE') await shareMounts(folder);
    if (subPath === undefined) return { ...mounted, hostPath: folder };
    const target = paths.subPath(volume.name, container.name, index);
    const part = await this.#prepareSubPath(pod, container.name, mount, () =>
      this.#parts.withoutMounts ? pathInVolume(folder, subPath) : bindSubPath(folder, subPath, target),
    );
    return { ...mounted, hostPath: part };
  }

  /** As with the kubelet, details of the node's filesystem go to the log and not into the message. */
  async #prepareSubPath(
    pod: Pod,
    container: string,
    { name }: VolumeMount,
    work: () => Promise<string>,
  ): Promise<string> {
    try {
      return await work();
    } catch (error) {
      const message = `failed to prepare subPath for volumeMount "${name}" of container "${container}"`;
      this.#context.logger.warn(podFields(pod.metadata), `${message}: ${errorMessage(error)}`);
      throw new StateletError(errorKind(error), message, { cause: error });
    }
  }

  /** `/etc/hosts`, where the agent writes it. */
  async hosts({ pod, container, podIPs, hostname }: HostsMountRequest): Promise<readonly Mount[]> {
    if (!mountsEtcHosts(pod, container, podIPs)) return [];
    const { hostsFile } = await this.#parts.pathsOf(pod.metadata.uid);
    // A small file that is always in memory: reading it by a thread, in four steps, costs ten times as much.
    const nodeHosts = pod.spec.hostNetwork
      ? readPlainFile(ETC_HOSTS_PATH, HOSTS_BYTES_MAX, { followsLinks: true })
      : undefined;
    const { clusterDomain } = this.#parts;
    const facts = { podIPs, hostname, clusterDomain, nodeHosts };
    await writeHostsFile(hostsFile, etcHosts(pod, facts));
    return [fileMount(ETC_HOSTS_PATH, hostsFile)];
  }
}

function messagePath({ container }: Pick<TerminationMountRequest, 'container'>): string {
  return container.terminationMessagePath ?? '/dev/termination-log';
}

function fileMount(containerPath: string, hostPath: string): Mount {
  return {
    containerPath,
    hostPath,
    readonly: false,
    selinuxRelabel: true,
    propagation: 'PROPAGATION_PRIVATE',
  };
}

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR, O_TRUNC, O_WRONLY } = constants;

const HOSTS_MODE = 0o644;

const TERMINATION_MODE = 0o666;

/** The running instance, the dead instance in the status, and an instance that is about to be pruned. */
const INSTANCES_KEPT = 3;

/**
 * Writes the file in place, not by renaming, because running containers have mounted this file. They may have written much into
 * it, so no more than the right length of it is read.
 */
export async function writeHostsFile(file: string, content: string): Promise<void> {
  const handle = await open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, HOSTS_MODE);
  try {
    const wanted = Buffer.from(content);
    const { size } = await handle.stat();
    if (size === wanted.length && (await holds(handle, wanted))) return;
    if (size > 0) await handle.truncate();
    await handle.write(wanted, 0, wanted.length, 0);
  } finally {
    await handle.close();
  }
}

async function holds(file: FileHandle, wanted: Buffer): Promise<boolean> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(wanted.length), 0, wanted.length, 0);
  return buffer.subarray(0, bytesRead).equals(wanted);
}

/**
 * Makes an empty file that every user may write, and returns its path. The name contains the attempt: a second try takes the same
 * file, and files of old instances are removed by their names.
 */
export async function makeTerminationFile(folder: string, attempt: number): Promise<string> {
  const file = join(folder, fileName(attempt));
  // Nearly always the folder is there: it is made with the mounts of the container.
  const handle = (await ifThere(openEmpty(file))) ?? (await openEmptyIn(folder, file));
  try {
    // `open` has applied the process' umask to the mode.
    await handle.chmod(TERMINATION_MODE);
  } finally {
    await handle.close();
  }
  if (attempt >= INSTANCES_KEPT) await rm(join(folder, fileName(attempt - INSTANCES_KEPT)), { force: true });
  return file;
}

function openEmpty(file: string): Promise<FileHandle> {
  return open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, TERMINATION_MODE);
}

async function openEmptyIn(folder: string, file: string): Promise<FileHandle> {
  await makeFolder(folder, PRIVATE_FOLDER_MODE);
  return openEmpty(file);
}

function fileName(attempt: number): string {
  return attempt.toString(16).padStart(8, '0');
}
