/** Pods of real containers: what a node with a CRI runtime puts around them. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { appArmorRejection } from '../../policies/security/apparmor.ts';
import { containerConfig, targetContainerId } from '../../policies/cri/container-config.ts';
import { type EnvFile, envFileKey, envFileRefs, resolveCommand } from '../../policies/cri/container-env.ts';
import { containerLogPath, podOfLogsFolder } from '../../policies/cri/cri-labels.ts';
import type { PodAddresses } from '../../policies/volumes/downward-fields.ts';
import { podAddresses } from '../../policies/status/pod-addresses.ts';
import { type NodeDNS, podDNS } from '../../policies/network/pod-dns.ts';
import { podHostname } from '../../policies/network/pod-hostname.ts';
import { runtimeHandler } from '../../policies/admission/runtime-class.ts';
import { podSandboxConfig } from '../../policies/cri/sandbox-config.ts';
import { sysctlRejection } from '../../policies/security/sysctls.ts';
import { CRI_LIMITS, unsupportedFields } from '../../policies/pod/unsupported-fields.ts';
import { imageVolumesOf } from '../../policies/volumes/volume-source.ts';
import type { ContainerFacts, ResolvedCommand } from '../../policies/cri/container-config.ts';
import type { ContainerConfig, Mount, PodSandboxConfig, UserNamespace } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import type { EventRecorder, PodReference } from '../../types/event-recorder.ts';
import type { Container, EphemeralContainer, Pod } from '../../types/kubernetes.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../types/runtime-pod.ts';
import type { PodCgroups } from '../cgroups/pod-cgroups.ts';
import type { ImageManager } from '../images/image-manager.ts';
import type { ContainerLogManager } from '../logs/container-log-manager.ts';
import type { LogLinks } from '../logs/log-links.ts';
import { PodLogs } from '../logs/pod-logs.ts';
import {
  type ContainerRequest,
  type ImageInUse,
  type PodNode,
  PrepareError,
  type SandboxRequest,
} from './pod-node.ts';
import type { ResolvConf } from './node-resolv-conf.ts';
import type { RuntimeCapabilities } from '../service/runtime-capabilities.ts';
import type { StartTimes } from '../pods/start-times.ts';
import type { UserNamespaces } from './user-namespace-ranges.ts';
import type { VolumeManager } from '../volumes/volume-manager.ts';

export interface CriNodeOptions {
  readonly podLogsDir: string;
  readonly hostIPs: readonly string[];
  /** The node's name, which pods on its network go by. */
  readonly hostname: string;
  readonly allocatable: Readonly<Record<string, string>>;
  readonly containers: ContainerFacts;
  readonly clusterDNS: readonly string[];
  readonly clusterDomain: string;
  readonly resolvConf: ResolvConf;
  readonly allowedUnsafeSysctls: readonly string[];
  /** Whether the kernel enforces AppArmor. */
  readonly appArmor: boolean;
  /** Whether SELinux is enabled: elsewhere there is nothing to label. */
  readonly selinux: boolean;
  /** Handlers by the names of their RuntimeClasses. */
  readonly runtimeHandlers: ReadonlyMap<string, string>;
  readonly startTimes: StartTimes;
  readonly cgroups: PodCgroups;
  readonly volumes: VolumeManager;
  readonly users: UserNamespaces;
  readonly capabilities: RuntimeCapabilities;
  readonly images: ImageManager;
  readonly logs: ContainerLogManager;
  readonly logLinks: LogLinks;
  readonly recorder: EventRecorder;
}

export class CriNode implements PodNode {
  readonly #options: CriNodeOptions;
  /** Those that have been made ready and not been released. */
  readonly #pods = new Map<string, Pod>();
  /** Pods whose DNS has been warned of. */
  readonly #warned = new Set<string>();
  readonly #podLogs: PodLogs;

  constructor(options: CriNodeOptions) {
    this.#options = options;
    this.#podLogs = new PodLogs(options.podLogsDir);
  }

  unsupportedFields(pod: Pod): readonly string[] {
    return unsupportedFields(pod, CRI_LIMITS);
  }

  rejection(pod: Pod): { readonly reason: string; readonly message: string } | undefined {
    const { allowedUnsafeSysctls, appArmor } = this.#options;
    return sysctlRejection(pod, allowedUnsafeSysctls) ?? appArmorRejection(pod, appArmor);
  }

  startTime(uid: string, now: string): Promise<string> {
    return this.#options.startTimes.of(uid, now);
  }

  async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
    const { cgroups, volumes } = this.#options;
    await orFail('FailedCreatePodContainer', async () => {
      await cgroups.ensurePod(pod);
      await this.#known(pod);
    });
    await orFail('FailedMount', () => volumes.mountPod(pod, signal));
  }

  async sandbox(pod: Pod, attempt: number): Promise<SandboxRequest> {
    const { podLogsDir, cgroups, containers, runtimeHandlers } = this.#options;
    const dns = await this.#dns();
    this.#warnOfDNS(pod, dns);
    const handler = runtimeHandler(pod, runtimeHandlers);
    const cgroupParent = cgroups.parentOf(pod);
    const users = await this.#users(pod, handler);
    const config = podSandboxConfig(pod, attempt, {
      ...{ podLogsDir, dns, cgroupParent, resources: containers },
      ...(users && { users }),
    });
    await mkdir(config.logDirectory, { recursive: true, mode: 0o755 });
    return { config, ...(handler !== undefined && { runtimeHandler: handler }) };
  }

  /** As with the kubelet what the container mounts is pulled before its own image. */
  async image(
    pod: Pod,
    container: Container | EphemeralContainer,
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<ImageInUse> {
    const { images } = this.#options;
    const volumes = new Map<string, string>();
    // What cannot be mounted is not pulled: `container` says why.
    const problem = await this.#imageVolumesProblem(pod, container);
    for (const { name, image: source } of problem ? [] : imageVolumesOf(pod, container)) {
      const { reference, pullPolicy } = source ?? {};
      const image = {
        name: container.name,
        image: reference ?? '',
        ...(pullPolicy && { imagePullPolicy: pullPolicy }),
      };
      volumes.set(name, (await images.ensureImage(pod, image, sandboxConfig, signal)).imageRef);
    }
    const own = await images.ensureImage(pod, container, sandboxConfig, signal);
    return volumes.size === 0 ? own : { ...own, volumes };
  }

  async #imageVolumesProblem(
    pod: Pod,
    container: Container | EphemeralContainer,
  ): Promise<StateletError | undefined> {
    if (imageVolumesOf(pod, container).length === 0) return undefined;
    return this.#options.capabilities.imageVolumesProblem();
  }

  async container(request: ContainerRequest): Promise<ContainerConfig> {
    const { pod, container, attempt, podStatus } = request;
    const { allocatable, containers, runtimeHandlers, selinux } = this.#options;
    const addresses = this.#addresses(pod, podStatus);
    const envFiles = await this.#envFiles(pod, container);
    const resolved = resolveCommand(pod, container, { ...addresses, allocatable, envFiles });
    const targetId = targetContainerId(container, podStatus);
    const users = await this.#users(pod, runtimeHandler(pod, runtimeHandlers));
    const mounts = await this.#mounts(request, resolved, addresses);
    const { imageRef, ...imageUser } = request.image;
    const node = { ...containers, ...(users && { users }) };
    const config = containerConfig({
      ...{ pod, container, attempt, resolved, imageRef, imageUser, node },
      ...(targetId !== undefined && { targetId }),
    });
    // The container is about to be created: nothing is left of one that cannot be.
    const termination = await this.#options.volumes.terminationMount(request);
    return { ...config, mounts: mountsFor([...mounts, ...termination], { users, selinux }) };
  }

  created(pod: PodReference, containerId: string, config: ContainerConfig, logDirectory: string): void {
    this.#options.logLinks.create(pod, config.metadata.name, containerId, join(logDirectory, config.logPath));
  }

  async removing(pod: PodReference, { id, name, restartCount }: RuntimeContainerStatus): Promise<void> {
    const { podLogsDir, logs, logLinks } = this.#options;
    await logs.clean(containerLogPath(podLogsDir, pod, name, restartCount));
    logLinks.remove(pod, name, id);
  }

  pastInstances(pod: PodReference, containerName: string): number {
    return this.#podLogs.pastInstances(pod, containerName);
  }

  forgetImage(image: string): void {
    this.#options.images.forget(image);
  }

  async release(uid: string): Promise<void> {
    const { cgroups, volumes, users } = this.#options;
    await volumes.releaseVolumes(uid);
    await cgroups.removePod(uid);
    await users.release(uid);
    if (this.#pods.delete(uid)) await cgroups.updateQoS(this.#pods.values());
  }

  async remove(pod: PodReference): Promise<void> {
    await this.#podLogs.remove(pod);
    this.#options.logLinks.removeOf(pod);
    this.#warned.delete(pod.uid);
    await this.release(pod.uid);
    await this.#options.volumes.unmountPod(pod.uid);
    await this.#options.startTimes.remove(pod.uid);
  }

  async podsOnDisk(): Promise<readonly PodReference[]> {
    const { cgroups, volumes } = this.#options;
    const uids = (await Promise.all([cgroups.podsOnDisk(), volumes.podsOnDisk()])).flat();
    const logs = await this.#podLogs.pods(new Set(uids));
    const pods = new Map(logs.map((pod) => [pod.uid, pod]));
    for (const uid of uids) {
      // Logs may be kept among the folders of pods.
      const isLogs = podOfLogsFolder(uid) !== undefined;
      if (!isLogs && !pods.has(uid)) pods.set(uid, { uid, name: '', namespace: '' });
    }
    return [...pods.values()];
  }

  podIP(pod: Pod, podStatus: RuntimePodStatus): string | undefined {
    return this.#addresses(pod, podStatus).podIPs[0];
  }

  collectGarbage(): void {
    this.#options.images.collectGarbage();
  }

  async #mounts(
    { pod, container, image: { volumes: images } }: ContainerRequest,
    { envs }: ResolvedCommand,
    addresses: PodAddresses,
  ): Promise<readonly Mount[]> {
    const { volumes, capabilities, runtimeHandlers } = this.#options;
    const problem = await this.#imageVolumesProblem(pod, container);
    if (problem) throw problem;
    const features = capabilities.of(runtimeHandler(pod, runtimeHandlers));
    return volumes.containerMounts({
      ...{ pod, container, addresses, hostname: this.#hostname(pod) },
      env: new Map(envs.map(({ key, value }) => [key, value])),
      supportsRecursiveReadOnly: features.recursiveReadOnlyMounts,
      ...(images && { images }),
    });
  }

  async #envFiles(
    pod: Pod,
    container: Container | EphemeralContainer,
  ): Promise<ReadonlyMap<string, EnvFile>> {
    const files = new Map<string, EnvFile>();
    for (const ref of envFileRefs(container)) {
      files.set(envFileKey(ref), await this.#options.volumes.envFile(pod, ref));
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

  /** The shares of the burstable pods' group follow from all of them. */
  async #known(pod: Pod): Promise<void> {
    const { uid } = pod.metadata;
    if (this.#pods.get(uid) === pod) return;
    this.#pods.set(uid, pod);
    await this.#options.cgroups.updateQoS(this.#pods.values());
  }

  #addresses(pod: Pod, podStatus: RuntimePodStatus): PodAddresses {
    const { hostIPs } = this.#options;
    const { podIPs = [] } = podAddresses(pod, podStatus, undefined, hostIPs);
    return { podIPs: podIPs.map(({ ip }) => ip), hostIPs };
  }

  #hostname(pod: Pod): string {
    const { hostname, clusterDomain } = this.#options;
    return pod.spec.hostNetwork === true ? hostname : podHostname(pod, clusterDomain);
  }

  async #dns(): Promise<NodeDNS> {
    const { clusterDNS, clusterDomain, resolvConf } = this.#options;
    return { clusterDNS, clusterDomain, resolvConf: await resolvConf.read() };
  }

  #warnOfDNS(pod: Pod, dns: NodeDNS): void {
    const { uid } = pod.metadata;
    if (this.#warned.has(uid)) return;
    this.#warned.add(uid);
    for (const { reason, message } of podDNS(pod, dns).warnings) {
      this.#options.recorder.event(pod.metadata, 'Warning', reason, message);
    }
  }
}

function mountsFor(
  mounts: readonly Mount[],
  { users, selinux }: { readonly users: UserNamespace | undefined; readonly selinux: boolean },
): readonly Mount[] {
  return mounts.map((mount) => ({
    ...mount,
    selinuxRelabel: selinux && mount.selinuxRelabel === true,
    // Whoever is root in the pod owns what the agent, root of the node, has made for it.
    ...(users && { uidMappings: users.uids, gidMappings: users.gids }),
  }));
}

async function orFail(reason: PrepareError['reason'], work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    throw new PrepareError(reason, error);
  }
}
