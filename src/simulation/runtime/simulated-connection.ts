import { Observable } from 'rxjs';
import { POD_UID_LABEL } from '../../agent/policies/cri/cri-labels.ts';
import type {
  Container,
  ContainerConfig,
  ContainerEvent,
  ContainerFilter,
  ContainerStats,
  ContainerStatus,
  ExecSyncResponse,
  FilesystemUsage,
  Image,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxStatus,
  RuntimeCondition,
  RuntimeStatus,
  VersionResponse,
} from '../../types/cri.ts';
import type {
  CallOptions,
  PullImageOptions,
  ResizingRuntime,
  RunPodSandboxOptions,
  RuntimeService,
} from '../../agent/runtime/service/runtime-service.ts';
import { Call, type CallHost, type CallRequest, canceled, closed } from './call.ts';
import type { EventStreams } from './event-streams.ts';
import type { OpenCall, SimulatedImages, SimulatedPod, World } from './world.ts';
import type { CallName } from './chance.ts';
import type { Program } from './simulated-program.ts';
import { execSync, requireRunning, statsOf, stopContainer } from './running-commands.ts';
import type { SimulatedSandbox } from './simulated-sandbox.ts';

const NS_PER_MS = 1e6;
const IMAGES_DIR = '/var/lib/images';

/** The parts that all connections of a runtime share. */
export interface ConnectionHost extends CallHost {
  readonly world: World;
  readonly streams: EventStreams;
  readonly images: SimulatedImages;
  readonly programOf: (words: readonly string[]) => Program;
  conditions(): readonly RuntimeCondition[];
  sandboxRuns(sandbox: SimulatedSandbox): void;
}

/** The subject of a call. */
interface Subject {
  readonly pod: SimulatedPod;
  readonly target?: string;
  readonly graceSeconds?: number;
  readonly timeoutMs?: number;
}

/** One agent's connection to a simulated runtime. Its time limits are those of the CRI client. */
export class SimulatedConnection implements RuntimeService {
  readonly id: number;
  readonly #host: ConnectionHost;
  #isCut = false;
  #isClosed = false;

  constructor(host: ConnectionHost, id: number) {
    this.#host = host;
    this.id = id;
  }

  /**
   * The agent was killed. Its calls are not answered any more, and no new one begins. Some of the calls that are
   * under way are still carried out.
   */
  cut(): void {
    this.#isCut = true;
    this.#host.streams.cut(this.id);
    for (const call of this.#calls()) call.cut();
  }

  close(): Promise<void> {
    this.#isClosed = true;
    for (const call of this.#calls()) call.close();
    this.#host.streams.complete(this.id);
    return Promise.resolve();
  }

  version(options?: CallOptions): Promise<VersionResponse> {
    return this.#call('Version', this.#node(), options, () => VERSION);
  }

  status(options?: CallOptions): Promise<RuntimeStatus> {
    return this.#call('Status', this.#node(), options, () => ({
      conditions: this.#host.conditions(),
      supplementalGroupsPolicy: true,
    }));
  }

  runPodSandbox(config: PodSandboxConfig, options?: RunPodSandboxOptions): Promise<string> {
    const { world, requestTimeoutMs } = this.#host;
    const subject = { pod: world.pod(config.metadata.uid), timeoutMs: 2 * requestTimeoutMs };
    return this.#call('RunPodSandbox', subject, options, () => {
      const sandbox = world.runPodSandbox(config, options?.runtimeHandler, this.id);
      this.#host.sandboxRuns(sandbox);
      return sandbox.id;
    });
  }

  stopPodSandbox(podSandboxId: string, options?: CallOptions): Promise<void> {
    const work = () => this.#host.world.stopPodSandbox(podSandboxId, this.id);
    return this.#call('StopPodSandbox', this.#of(podSandboxId), options, work);
  }

  removePodSandbox(podSandboxId: string, options?: CallOptions): Promise<void> {
    const work = () => this.#host.world.removePodSandbox(podSandboxId, this.id);
    return this.#call('RemovePodSandbox', this.#of(podSandboxId), options, work);
  }

  podSandboxStatus(podSandboxId: string, options?: CallOptions): Promise<PodSandboxStatus> {
    const work = () => this.#host.world.sandbox(podSandboxId).status();
    return this.#call('PodSandboxStatus', this.#of(podSandboxId), options, work);
  }

  listPodSandbox(filter: PodSandboxFilter = {}, options?: CallOptions): Promise<readonly PodSandbox[]> {
    const work = () => this.#host.world.listPodSandbox(filter);
    return this.#call('ListPodSandbox', this.#listed(filter), options, work);
  }

  createContainer(
    podSandboxId: string,
    config: ContainerConfig,
    _sandboxConfig: PodSandboxConfig,
    options?: CallOptions,
  ): Promise<string> {
    const subject = { pod: this.#host.world.podOf(podSandboxId), target: config.metadata.name };
    const work = () => this.#host.world.createContainer(podSandboxId, config);
    return this.#call('CreateContainer', subject, options, work);
  }

  startContainer(containerId: string, options?: CallOptions): Promise<void> {
    const work = () => this.#host.world.startContainer(containerId, this.id);
    return this.#call('StartContainer', this.#of(containerId), options, work);
  }

  stopContainer(containerId: string, timeoutSeconds: number, options?: CallOptions): Promise<void> {
    const { world, clock, requestTimeoutMs } = this.#host;
    const timeoutMs = timeoutSeconds * 1000 + requestTimeoutMs;
    const subject = { ...this.#of(containerId), graceSeconds: timeoutSeconds, timeoutMs };
    return this.#call<undefined>('StopContainer', subject, options, (call) =>
      stopContainer(call, world.findContainer(containerId), { clock, timeoutSeconds }),
    );
  }

  removeContainer(containerId: string, options?: CallOptions): Promise<void> {
    const work = () => this.#host.world.removeContainer(containerId, this.id);
    return this.#call('RemoveContainer', this.#of(containerId), options, work);
  }

  listContainers(filter: ContainerFilter = {}, options?: CallOptions): Promise<readonly Container[]> {
    const work = () => this.#host.world.listContainers(filter);
    return this.#call('ListContainers', this.#listed(filter), options, work);
  }

  containerStatus(containerId: string, options?: CallOptions): Promise<ContainerStatus> {
    const work = () => this.#host.world.container(containerId).status();
    return this.#call('ContainerStatus', this.#of(containerId), options, work);
  }

  execSync(
    containerId: string,
    command: readonly string[],
    timeoutSeconds: number,
    options?: CallOptions,
  ): Promise<ExecSyncResponse> {
    const { world, clock, requestTimeoutMs, programOf, witness } = this.#host;
    const timeoutMs = timeoutSeconds > 0 ? timeoutSeconds * 1000 + requestTimeoutMs : Infinity;
    const subject = { ...this.#of(containerId), timeoutMs };
    return this.#call<ExecSyncResponse>('ExecSync', subject, options, (call) => {
      const container = world.container(containerId);
      const ended = (exitCode: number) => witness.commandEnded?.({ container, words: command, exitCode });
      return execSync(call, container, { clock, timeoutSeconds, program: programOf(command), ended });
    });
  }

  listContainerStats(
    filter: ContainerFilter = {},
    options?: CallOptions,
  ): Promise<readonly ContainerStats[]> {
    const { world, clock } = this.#host;
    return this.#call('ListContainerStats', this.#listed(filter), options, () =>
      world
        .listContainers({ state: 'CONTAINER_RUNNING', ...filter })
        .filter(({ state }) => state === 'CONTAINER_RUNNING')
        .map(({ id }) => statsOf(world.container(id), clock.now())),
    );
  }

  containerEvents(): Observable<ContainerEvent> {
    return new Observable((subscriber) => {
      if (this.#isClosed) subscriber.complete();
      if (this.#isClosed || this.#isCut) return undefined;
      const { streams } = this.#host;
      const stream = streams.open(this.id, subscriber);
      return () => streams.close(stream);
    });
  }

  /** The runtime knows UpdatePodSandboxResources, and has nothing against it. */
  get resizing(): ResizingRuntime {
    return {
      updateContainerResources: (containerId, resources, options) => {
        const work = () => this.#host.world.container(containerId).resize(resources);
        return this.#call('UpdateContainerResources', this.#of(containerId), options, work);
      },
      updatePodSandboxResources: (podSandboxId, _resources, options) => {
        const work = () => void this.#host.world.sandbox(podSandboxId);
        return this.#call('UpdatePodSandboxResources', this.#of(podSandboxId), options, work);
      },
    };
  }

  reopenContainerLog(containerId: string, options?: CallOptions): Promise<void> {
    const work = () => requireRunning(this.#host.world.container(containerId));
    return this.#call('ReopenContainerLog', this.#of(containerId), options, work);
  }

  pullImage(image: string, options?: PullImageOptions): Promise<string> {
    const uid = options?.sandboxConfig?.metadata.uid;
    const { pod } = uid === undefined ? this.#ofImage(image) : { pod: this.#host.world.pod(uid) };
    const subject = { pod, target: image, timeoutMs: Infinity };
    return this.#call('PullImage', subject, options, () => this.#host.images.pull(image));
  }

  imageStatus(image: string, options?: CallOptions): Promise<Image | undefined> {
    return this.#call('ImageStatus', this.#ofImage(image), options, () => this.#host.images.find(image));
  }

  listImages(options?: CallOptions): Promise<readonly Image[]> {
    return this.#call('ListImages', this.#node(), options, () => this.#host.images.list());
  }

  removeImage(image: string, options?: CallOptions): Promise<void> {
    return this.#call('RemoveImage', this.#ofImage(image), options, () => this.#host.images.remove(image));
  }

  imageFsInfo(options?: CallOptions): Promise<readonly FilesystemUsage[]> {
    return this.#call('ImageFsInfo', this.#node(), options, () => {
      const usedBytes = this.#host.images.list().reduce((sum, { size }) => sum + size, 0);
      return [
        { timestamp: this.#host.clock.now() * NS_PER_MS, mountpoint: IMAGES_DIR, usedBytes, inodesUsed: 0 },
      ];
    });
  }

  #call<T>(
    name: CallName,
    { pod, target = '', graceSeconds, timeoutMs = this.#host.requestTimeoutMs }: Subject,
    options: CallOptions | undefined,
    work: CallRequest<T>['work'],
  ): Promise<T> {
    if (this.#isCut) return new Promise<T>(() => undefined);
    if (this.#isClosed) return Promise.reject(closed(name));
    const signal = options?.signal;
    if (signal?.aborted) return Promise.reject(canceled(name));
    const connection = this.id;
    const request = { name, pod, target, graceSeconds, connection, signal, timeoutMs, work };
    const call = new Call<T>(this.#host, request);
    call.begin();
    return call.answer;
  }

  #calls(): readonly OpenCall[] {
    return this.#host.world.openCalls().filter(({ connection }) => connection === this.id);
  }

  /** For a call about the node: its entry has no UID. */
  #node(): Subject {
    return { pod: this.#host.world.pod('') };
  }

  #of(id: string): Subject {
    return { pod: this.#host.world.podOf(id), target: id };
  }

  #ofImage(image: string): Subject {
    return { pod: this.#host.world.pod(`image:${image}`), target: image };
  }

  #listed({
    id,
    podSandboxId,
    labelSelector,
  }: Pick<ContainerFilter, 'id' | 'podSandboxId' | 'labelSelector'>): Subject {
    const target = id ?? podSandboxId;
    if (target !== undefined) return this.#of(target);
    return { pod: this.#host.world.pod(labelSelector?.[POD_UID_LABEL] ?? '') };
  }
}

const VERSION: VersionResponse = {
  runtimeName: 'simulated',
  runtimeVersion: '1',
  runtimeApiVersion: 'v1',
};
