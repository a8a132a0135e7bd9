/** What sandboxes and containers of a CRI runtime are made from. */
import { makeFolder } from '../../../system/make-folder.ts';
import {
  containerConfig,
  type ContainerFacts,
  targetContainerId,
  withAdditions,
} from '../../policies/cri/container-config.ts';
import { type EnvFile, envFileKey, envFileRefs, resolveCommand } from '../../policies/cri/container-env.ts';
import type { PodAddresses } from '../../policies/volumes/downward-fields.ts';
import { podAddresses } from '../../policies/status/pod-status.ts';
import {
  knownRuntimeHandler,
  podSandboxConfig,
  type RuntimeClasses,
  runtimeHandler,
} from '../../policies/cri/sandbox-config.ts';
import { imageVolumesOf } from '../../policies/volumes/volume-source.ts';
import type { ApiObjects } from '../../../types/api-objects.ts';
import type { ContainerConfig, Mount, PodSandboxConfig, UserNamespace } from '../../../types/cri.ts';
import { StateletError } from '../../../types/errors.ts';
import type { PodReference } from '../../../types/event-recorder.ts';
import type { Container, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type { KnownContainer, RuntimePodStatus } from '../../../types/runtime-pod.ts';
import type { ImageManager } from '../images/image-manager.ts';
import type { PodLogs } from '../logs/pod-logs.ts';
import type { NodeAdditions } from './compose-node.ts';
import type { ContainerRequest, ImageInUse, PodDetails, Resizer, SandboxRequest } from './pod-node.ts';
import { readServerFacts } from '../pods/object-subsystem.ts';
import type { RuntimeCapabilities } from '../service/runtime-capabilities.ts';
import type { KnownContainers } from '../pods/known-containers.ts';
import type { StartTimes } from '../pods/start-times.ts';
import type { UserNamespaces } from './user-namespace-ranges.ts';
import type { VolumeManager } from '../volumes/volume-manager.ts';
import { EnvFilesSize } from '../../policies/cri/exec-size.ts';

export interface CriPodDetailsOptions {
  readonly podLogsDir: string;
  readonly hostIPs: readonly string[];
  readonly allocatable: Readonly<Record<string, string>>;
  readonly containers: ContainerFacts;
  /** Whether SELinux is enabled: elsewhere there is nothing to label. */
  readonly selinux: boolean;
  readonly runtimeClasses: RuntimeClasses;
  readonly startTimes: StartTimes;
  readonly knownContainers: KnownContainers;
  readonly resizer?: Resizer | undefined;
  readonly volumes: VolumeManager;
  readonly users: UserNamespaces;
  readonly capabilities: RuntimeCapabilities;
  readonly images: ImageManager;
  readonly podLogs: PodLogs;
  /** Without it, no pod may refer to objects of an API server, and containers have no variables for services. */
  readonly objects?: ApiObjects;
}

export class CriPodDetails implements PodDetails {
  readonly #options: CriPodDetailsOptions;
  readonly #additions: NodeAdditions;

  constructor(options: CriPodDetailsOptions, additions: NodeAdditions) {
    this.#options = options;
    this.#additions = additions;
  }

  startTime(uid: string, now: string): Promise<string> {
    return this.#options.startTimes.of(uid, now);
  }

  recallContainers(uid: string): void {
    this.#options.knownContainers.recall(uid);
  }

  knownContainer(uid: string, containerId: string): KnownContainer | undefined {
    return this.#options.knownContainers.of(uid, containerId);
  }

  rememberContainer(uid: string, containerId: string, known: KnownContainer): Promise<void> {
    return this.#options.knownContainers.note(uid, containerId, known);
  }

  get resizer(): Resizer | undefined {
    return this.#options.resizer;
  }

  async sandbox(pod: Pod, attempt: number, isNew: boolean): Promise<SandboxRequest> {
    const { podLogsDir, containers: resources, runtimeClasses } = this.#options;
    const { groups: volumeGroups, ...added } = await this.#additions.sandbox(pod);
    const handler = (isNew ? runtimeHandler : knownRuntimeHandler)(pod, runtimeClasses);
    const users = await this.#users(pod, handler);
    const facts = { podLogsDir, ...added, resources, users, volumeGroups };
    const config = podSandboxConfig(pod, attempt, facts);
    await makeFolder(config.logDirectory, 0o755);
    return { config, runtimeHandler: handler };
  }

  /** As with the kubelet, images that the container mounts as volumes are pulled before its own. */
  async image(
    pod: Pod,
    container: Container | EphemeralContainer,
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<ImageInUse> {
    const { images } = this.#options;
    const volumes = new Map<string, string>();
    // An image that the runtime cannot mount is not pulled: `container` reports the problem.
    const problem = await imageVolumesProblem(this.#options.capabilities, pod, container);
    for (const { name, image: source } of problem ? [] : imageVolumesOf(pod, container)) {
      const { reference, pullPolicy } = source ?? {};
      const image = { name: container.name, image: reference ?? '', imagePullPolicy: pullPolicy };
      volumes.set(name, (await images.ensureImage(pod, image, sandboxConfig, signal)).imageRef);
    }
    const own = await images.ensureImage(pod, container, sandboxConfig, signal);
    return volumes.size === 0 ? own : { ...own, volumes };
  }

  async container(request: ContainerRequest): Promise<ContainerConfig> {
    const { pod, container, attempt, podStatus } = request;
    const { allocatable, containers, runtimeClasses, selinux, hostIPs } = this.#options;
    const addresses = downwardAddresses(pod, podStatus, hostIPs);
    const envFiles = await this.#envFiles(pod, container);
    const ofServer = await readServerFacts(this.#options.objects, pod, container);
    const resolved = resolveCommand(pod, container, { ...addresses, ...ofServer, allocatable, envFiles });
    const targetId = targetContainerId(container, podStatus);
    const additions = await this.#additions.container(request, resolved.envs);
    const users = await this.#users(pod, knownRuntimeHandler(pod, runtimeClasses));
    const { imageRef, ...imageUser } = request.image;
    const volumeGroups = this.#options.volumes.groupsOf(pod.metadata.uid);
    const node = { ...containers, users, volumeGroups };
    const facts = { pod, container, attempt, resolved, imageRef, imageUser, node, targetId };
    const config = additions.reduce(withAdditions, containerConfig(facts));
    // Last: a container whose configuration is refused leaves no file.
    const termination = await this.#options.volumes.mounts.termination(request);
    return { ...config, mounts: mountsFor([...(config.mounts ?? []), ...termination], { users, selinux }) };
  }

  pastInstances(pod: PodReference, containerName: string): number {
    return this.#options.podLogs.pastInstances(pod, containerName);
  }

  podIP(pod: Pod, podStatus: RuntimePodStatus): string | undefined {
    return downwardAddresses(pod, podStatus, this.#options.hostIPs).podIPs[0];
  }

  async #envFiles(
    pod: Pod,
    container: Container | EphemeralContainer,
  ): Promise<ReadonlyMap<string, EnvFile>> {
    const files = new Map<string, EnvFile>();
    const size = new EnvFilesSize(container);
    for (const ref of envFileRefs(container)) {
      const file = await this.#options.volumes.envFile(pod, ref);
      if ('text' in file) size.add(ref, file.text);
      files.set(envFileKey(ref), file);
    }
    return files;
  }

  /** Undefined for a pod that has the users of the node. */
  async #users(pod: Pod, handler: string | undefined): Promise<UserNamespace | undefined> {
    if (pod.spec.hostUsers !== false) return undefined;
    const { capabilities, users } = this.#options;
    if (capabilities.of(handler).userNamespaces) return users.ensure(pod.metadata.uid);
    const who = handler === undefined ? 'runtime' : `RuntimeClass handler "${handler}"`;
    const message = `can't set \`spec.hostUsers: false\`, ${who} does not support user namespaces`;
    throw new StateletError('FailedPrecondition', message);
  }
}

/** Why the runtime cannot mount the images that the container has as volumes. */
export async function imageVolumesProblem(
  capabilities: RuntimeCapabilities,
  pod: Pod,
  container: Container | EphemeralContainer,
): Promise<StateletError | undefined> {
  if (imageVolumesOf(pod, container).length === 0) return undefined;
  return capabilities.imageVolumesProblem();
}

/** The addresses of a pod and its node for its containers. */
export function downwardAddresses(
  pod: Pod,
  podStatus: RuntimePodStatus,
  hostIPs: readonly string[],
): PodAddresses {
  const { podIPs = [] } = podAddresses(pod, podStatus, undefined, hostIPs);
  return { podIPs: podIPs.map(({ ip }) => ip), hostIPs };
}

function mountsFor(
  mounts: readonly Mount[],
  { users, selinux }: { readonly users: UserNamespace | undefined; readonly selinux: boolean },
): readonly Mount[] {
  return mounts.map((mount) => ({
    ...mount,
    selinuxRelabel: selinux && mount.selinuxRelabel === true,
    // Root of the pod owns the files that the agent, root of the node, has made for the pod.
    ...(users && { uidMappings: users.uids, gidMappings: users.gids }),
  }));
}
