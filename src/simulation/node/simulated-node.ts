import { containerConfig } from '../../policies/cri/container-config.ts';
import { podSandboxConfig } from '../../policies/cri/sandbox-config.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import type { PodReference } from '../../types/event-recorder.ts';
import type { Container, EphemeralContainer, Pod } from '../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../types/runtime-pod.ts';
import { ImageError } from '../../runtime/images/image-error.ts';
import {
  type ContainerRequest,
  type ImageInUse,
  type PodNode,
  PrepareError,
} from '../../runtime/node/pod-node.ts';
import type { RuntimeService } from '../../runtime/service/runtime-service.ts';

/** The folder of a pod on the disk of a simulated node. It outlives the agent. */
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
  /** The release of the pod's volumes begins. It may fail. */
  readonly onRelease?: (uid: string) => void;
  /** A killed agent does not change the disk any more. */
  readonly isAlive?: () => boolean;
}

/** The PodNode of a simulated node: volumes and image pulls that may fail. */
export class SimulatedNode implements PodNode {
  readonly #options: SimulatedNodeOptions;
  readonly #asked = new Map<string, number>();

  constructor(options: SimulatedNodeOptions) {
    this.#options = options;
  }

  unsupportedFields(): readonly string[] {
    return [];
  }

  rejection(): undefined {
    return undefined;
  }

  async startTime(uid: string, now: string): Promise<string> {
    await this.#step();
    return (this.#folder(uid).startTime ??= now);
  }

  async prepare({ metadata: { uid } }: Pod, signal: AbortSignal): Promise<void> {
    await this.#step();
    const folder = this.#folder(uid);
    if (folder.mounted) return;
    signal.throwIfAborted();
    if (this.#happens('mount', uid))
      throw new PrepareError('FailedMount', new Error('the disk did not answer'));
    folder.mounted = true;
    folder.mountedAt = this.#options.now();
  }

  sandbox(pod: Pod, attempt: number): Promise<{ config: PodSandboxConfig }> {
    return Promise.resolve({ config: podSandboxConfig(pod, attempt, { podLogsDir: '/var/log/pods' }) });
  }

  async image(
    { metadata: { uid } }: Pod,
    { image = '' }: Container | EphemeralContainer,
    sandboxConfig: PodSandboxConfig,
    signal: AbortSignal,
  ): Promise<ImageInUse> {
    const { runtime } = this.#options;
    try {
      const known = await runtime.imageStatus(image, { signal });
      if (known !== undefined) return { imageRef: known.id };
      if (this.#happens('pull', uid)) throw new StateletError('Unavailable', 'the registry did not answer');
      return { imageRef: await runtime.pullImage(image, { sandboxConfig, signal }) };
    } catch (error) {
      signal.throwIfAborted();
      const cause = error instanceof StateletError ? error : new StateletError('Internal', String(error));
      throw new ImageError('ErrImagePull', cause.message, { kind: cause.kind, cause });
    }
  }

  container({ pod, container, attempt, image }: ContainerRequest): Promise<ContainerConfig> {
    const { command = [], args = [] } = container;
    const resolved = { command, args, envs: [] };
    const { imageRef } = image;
    return Promise.resolve(containerConfig({ pod, container, attempt, resolved, imageRef }));
  }

  created({ uid }: PodReference, _containerId: string, { metadata }: ContainerConfig): void {
    this.#folder(uid).instances.set(metadata.name, metadata.attempt + 1);
  }

  removing(): Promise<void> {
    return Promise.resolve();
  }

  pastInstances({ uid }: PodReference, containerName: string): number {
    return this.#options.disk.get(uid)?.instances.get(containerName) ?? 0;
  }

  forgetImage(): void {
    // It asks the runtime for an image each time.
  }

  podIP({ spec }: Pod, { sandboxes: [sandbox] }: RuntimePodStatus): string | undefined {
    return spec.hostNetwork === true ? '127.0.0.1' : sandbox?.ip;
  }

  async release(uid: string): Promise<void> {
    this.#options.onRelease?.(uid);
    await this.#step();
    if (this.#happens('release', uid)) throw new StateletError('Internal', 'the volume is busy');
    const folder = this.#options.disk.get(uid);
    if (folder !== undefined) folder.mounted = false;
  }

  async remove({ uid }: PodReference): Promise<void> {
    await this.release(uid);
    this.#options.disk.delete(uid);
  }

  podsOnDisk(): Promise<readonly PodReference[]> {
    const uids = [...this.#options.disk.keys()];
    return Promise.resolve(uids.map((uid) => ({ uid, name: '', namespace: '' })));
  }

  collectGarbage(): void {
    // It keeps nothing that has to be collected.
  }

  /** Never resolves for a killed agent. */
  async #step(): Promise<void> {
    await Promise.resolve();
    if (this.#options.isAlive?.() === false) await new Promise(() => undefined);
  }

  #folder(uid: string): PodFolder {
    const { disk } = this.#options;
    let folder = disk.get(uid);
    if (folder === undefined)
      disk.set(uid, (folder = { mounted: false, mountedAt: 0, instances: new Map() }));
    return folder;
  }

  #happens(fault: keyof NodeFaults, uid: string): boolean {
    const probability = this.#options.faults()[fault];
    if (probability === 0) return false;
    const ordinal = (this.#asked.get(`${fault} ${uid}`) ?? 0) + 1;
    this.#asked.set(`${fault} ${uid}`, ordinal);
    return this.#options.random(`${uid}/${fault}/${String(ordinal)}`) < probability;
  }
}
