/** What a container mounts: its volumes, `/etc/hosts`, and the file for its termination message. */
import { ETC_HOSTS_PATH, etcHosts, mountsEtcHosts } from '../../policies/network/pod-hostname.ts';
import { mountPlan } from '../../policies/volumes/volume-mounts.ts';
import type { VolumeMount } from '../../policies/volumes/volume-source.ts';
import type { Mount } from '../../types/cri.ts';
import { readPlainFile } from '../../system/plain-file.ts';
import { errorKind, errorMessage, StateletError } from '../../types/errors.ts';
import type { Container, EphemeralContainer, Pod } from '../../types/kubernetes.ts';
import { podFields, type Logger } from '../../types/logger.ts';
import type { ClaimedVolumes } from './claimed-volumes.ts';
import { makeTerminationFile, writeHostsFile } from './container-files.ts';
import { kindName, kindOf } from './kinds/volume-kinds.ts';
import { shareMounts } from './mounter.ts';
import type { PodPaths } from './pod-paths.ts';
import { bindSubPath } from './sub-path.ts';
import { named } from '../../policies/formats/lookups.ts';

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

export interface ContainerMountsOptions {
  /** The domain of pods with a subdomain ends in it; may be empty. */
  readonly clusterDomain: string;
  readonly logger: Logger;
  /** Without it, pods cannot have claims. */
  readonly claims?: Pick<ClaimedVolumes, 'of'>;
}

export class ContainerMounts {
  readonly #options: ContainerMountsOptions;

  constructor(options: ContainerMountsOptions) {
    this.#options = options;
  }

  /** Its volumes, which must have been set up. */
  async of(request: ContainerMountsRequest, paths: PodPaths): Promise<readonly Mount[]> {
    const mounts: Mount[] = [];
    for (const [index, mount] of (request.container.volumeMounts ?? []).entries()) {
      mounts.push(await this.#volumeMount(request, paths, mount, index));
    }
    return mounts;
  }

  /** Makes an empty file for the termination message of an instance that is about to be created. */
  async termination(request: TerminationMountRequest, paths: PodPaths): Promise<readonly Mount[]> {
    const containerPath = messagePath(request);
    if (containerPath === '') return [];
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
    const claimed = this.#options.claims?.of(pod.metadata.uid, volume.name);
    const found = { pod, volume, claimed, paths };
    const kind = kindOf(found);
    const whole = mountPlan(claimed?.readOnly ? { ...mount, readOnly: true } : mount, {
      container,
      kind: kindName(found),
      env,
      supportsRecursiveReadOnly,
    });
    if (kind.mount) return kind.mount(found, whole, images?.get(volume.name) ?? '');
    const { subPath, ...plan } = whole;
    const folder = kind.folder?.(found) ?? '';
    if (kind.isOfPod && plan.propagation !== 'PROPAGATION_PRIVATE') await shareMounts(folder);
    if (subPath === undefined) return { ...plan, hostPath: folder };
    const target = paths.subPath(volume.name, container.name, index);
    await this.#bindSubPath(pod, container.name, mount, () => bindSubPath(folder, subPath, target));
    return { ...plan, hostPath: target };
  }

  /** As with the kubelet, details of the node's filesystem go to the log and not into the message. */
  async #bindSubPath(
    pod: Pod,
    container: string,
    { name }: VolumeMount,
    work: () => Promise<void>,
  ): Promise<void> {
    try {
      await work();
    } catch (error) {
      const message = `failed to prepare subPath for volumeMount "${name}" of container "${container}"`;
      this.#options.logger.warn(podFields(pod.metadata), `${message}: ${errorMessage(error)}`);
      throw new StateletError(errorKind(error), message, { cause: error });
    }
  }

  /** `/etc/hosts`, where the agent writes it. */
  async hosts(
    { pod, container, podIPs, hostname }: HostsMountRequest,
    { hostsFile }: PodPaths,
  ): Promise<readonly Mount[]> {
    if (!mountsEtcHosts(pod, container, podIPs)) return [];
    // A small file that is always in memory: reading it by a thread, in four steps, costs ten times as much.
    const nodeHosts = pod.spec.hostNetwork
      ? readPlainFile(ETC_HOSTS_PATH, HOSTS_BYTES_MAX, { followsLinks: true })
      : undefined;
    const { clusterDomain } = this.#options;
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
