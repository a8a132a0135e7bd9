/** The devices of this node: which exist, which container has which, and what containers get with them (mounts, variables, …). */
import { Subject } from 'rxjs';
import { containerDevices } from '../../policies/devices/container-devices.ts';
import { deviceHints } from '../../policies/devices/device-hints.ts';
import { devicesStatus } from '../../policies/devices/device-health.ts';
import {
  byNumaNode,
  type Device,
  type Devices,
  WITHOUT_NUMA_NODE,
} from '../../policies/devices/device-list.ts';
import type { HeldDevices } from '../../../types/pod-resources.ts';
import type { DevicesCheckpoint } from '../../policies/devices/devices-checkpoint.ts';
import { isRunning } from '../../policies/cri/runtime-pod-status.ts';
import { podLimits, textsOf } from '../../policies/pod/resources.ts';
import type { TopologyHint, TopologyHints } from '../../policies/topology/topology-hint.ts';
import type { PluginResources } from '../../policies/node/machine-resources.ts';
import type { ContainerAdditions } from '../../policies/cri/container-config.ts';
import { DEVICES_ANNOTATION } from '../../policies/cri/cri-labels.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { Container, ContainerStatus, EphemeralContainer, Pod } from '../../../types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../types/runtime-pod.ts';
import type { PodWaits } from '../node/pod-waits.ts';
import type { HintProvider } from '../topology/hint-provider.ts';
import { DeviceAllocator } from './device-allocator.ts';
import { type DeviceRecord, DeviceRecords } from './device-records.ts';
import { DeviceStock } from './device-stock.ts';
import { NotedWaits } from '../node/noted-waits.ts';
import type { DevicesFile } from './devices-file.ts';
import type { DevicePlugin } from './remote-device-plugin.ts';

/** The pods that may have devices. */
interface DeviceHolders {
  /** Those that the runtime has. */
  pods(): Iterable<RuntimePodStatus>;
  isPodTerminated(uid: string): boolean;
}

export class DeviceManager implements HintProvider {
  readonly name = 'devices';
  /** Of the device plugins and the checkpoint. */
  readonly folder: string;
  /** False: no agent has handed out devices on this machine. */
  readonly hadCheckpoint: boolean;
  /** Emits when the number of devices or of healthy devices changes. */
  readonly changes = new Subject<void>();
  /** Emits the UIDs of pods when the health of their devices changes. */
  readonly healthChanges = new Subject<readonly string[]>();
  readonly #context: AgentContext;
  readonly #stock = new DeviceStock();
  readonly #records = new DeviceRecords();
  readonly #waits: NotedWaits;
  readonly #allocator: DeviceAllocator;
  readonly #file: DevicesFile;
  readonly #life = new AbortController();
  /** UIDs of pods whose devices may differ from the checkpoint's. */
  readonly #unwritten = new Set<string>();
  /**
   * By resource that a plugin served, its devices when their health was last reported. A plugin that takes the place of another one has
   * connected before it lists its devices.
   */
  readonly #reported = new Map<string, Devices>();
  #view: DeviceHolders = { pods: () => [], isPodTerminated: () => false };

  /** Reads what a former agent has written. */
  constructor(context: AgentContext, folder: string, file: DevicesFile) {
    this.#context = context;
    this.folder = folder;
    this.#file = file;
    this.#waits = new NotedWaits(context.clock);
    const parts = { stock: this.#stock, records: this.#records, waits: this.#waits };
    this.#allocator = new DeviceAllocator(context, parts);
    const checkpoint = file.read();
    this.hadCheckpoint = checkpoint !== undefined;
    const { entries, registered } = checkpoint ?? { entries: [], registered: {} };
    const unreadable = this.#records.recall(entries);
    if (unreadable > 0)
      context.logger.warn({ folder }, `${unreadable} entries of the checkpoint of devices cannot be read`);
    for (const resource of Object.keys(registered)) this.#stock.recall(resource);
  }

  start(view: DeviceHolders): void {
    this.#view = view;
  }

  /** Calls under way reject. Resolves when no write is under way any more. */
  async stop(): Promise<void> {
    this.#life.abort(new StateletError('Canceled', 'the agent stops'));
    await this.#write().catch(() => undefined);
  }

  // Called by the actors of plugins.

  get knownResources(): readonly string[] {
    return this.#stock.names;
  }

  connected(resource: string, plugin: DevicePlugin): void {
    this.#stock.connected(resource, plugin);
  }

  listed(resource: string, devices: Devices): void {
    this.#change(resource, () => this.#stock.listed(resource, devices));
  }

  /** No plugin serves it any more: none of its devices is healthy. */
  gone(resource: string): void {
    this.#change(resource, () => this.#stock.gone(resource));
  }

  forget(resource: string): void {
    this.#change(resource, () => this.#stock.forget(resource));
  }

  // Called by other parts of the node.

  resources(): PluginResources {
    return this.#stock.resources();
  }

  /** How many devices of each resource containers hold. */
  heldCounts(): ReadonlyMap<string, number> {
    return this.#records.counts();
  }

  /** By resource and NUMA node, as in PodResources. */
  readonly heldResources = (uid: string, container: string): readonly HeldDevices[] =>
    this.#heldBy(uid, container).flatMap(({ resource, byNode }) =>
      Array.from(byNode, ([node, ids]) => heldOnNode(resource, node, ids)),
    );

  /** The healthy devices of the node, by resource and NUMA node. */
  readonly healthyResources = (): readonly HeldDevices[] =>
    this.#stock.names.flatMap((name) => {
      const devices: Devices = this.#stock.servedDevices(name) ?? new Map<string, Device>();
      const byNode = byNumaNode(this.#stock.healthy(name), devices);
      return Array.from(byNode, ([node, ids]) => heldOnNode(name, node, ids));
    });

  #heldBy(uid: string, container: string): readonly DeviceRecord[] {
    return this.#records.of(uid, container).filter(({ answer }) => answer !== undefined);
  }

  /** `allocatedResourcesStatus` of the container; undefined where it has no devices. */
  statusOf(uid: string, container: string): ContainerStatus['allocatedResourcesStatus'] {
    const held = this.#heldBy(uid, container);
    if (held.length === 0) return undefined;
    return devicesStatus(
      held.map(({ resource, ids }) => ({ resource, ids, devices: this.#stock.servedDevices(resource) })),
    );
  }

  /** The calls of plugins that pods wait for. */
  get waits(): PodWaits {
    return this.#waits;
  }

  /** The UIDs of the pods that have devices. */
  get holders(): readonly string[] {
    return this.#records.pods;
  }

  // Called by the topology manager.

  hints(pod: Pod, container: Container, numaNodes: readonly number[]): TopologyHints {
    const { uid } = pod.metadata;
    return this.#hints(numaNodes, this.#allocator.requests(container), (resource) => ({
      held: this.#records.find(uid, container.name, resource)?.ids ?? [],
      reusable: this.#records.reusable(pod, resource),
    }));
  }

  podHints(pod: Pod, numaNodes: readonly number[]): TopologyHints {
    const limits = podLimits(pod, { excludeOverhead: true });
    const resources = { limits: textsOf(limits) };
    const all = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    return this.#hints(numaNodes, this.#allocator.requests({ resources }), (resource) => ({
      held: all.flatMap(({ name }) => this.#records.find(pod.metadata.uid, name, resource)?.ids ?? []),
      reusable: new Set(),
    }));
  }

  /**
   * A pod with a running container keeps its devices, even if their plugin is gone or they are not in the records: then the
   * plugin is asked when a container is created. Otherwise a restart of the agent would reject pods whose containers are just
   * being restarted.
   */
  allocate(pod: Pod, container: Container, hint: TopologyHint | undefined): void {
    if (this.#allocator.requests(container).size === 0) return;
    if (this.#runs(pod.metadata.uid)) return;
    this.#takeBack(pod.metadata.uid);
    this.#allocator.reserve(pod, container, hint?.numaNodes);
  }

  complete(pod: Pod, signal: AbortSignal): Promise<void> | undefined {
    const { uid } = pod.metadata;
    return this.#records.setAside(uid).length > 0 || this.#unwritten.has(uid)
      ? this.#complete(pod, signal)
      : undefined;
  }

  async #complete(pod: Pod, signal: AbortSignal): Promise<void> {
    const { uid } = pod.metadata;
    for (const { name } of [...(pod.spec.initContainers ?? []), ...pod.spec.containers])
      if (await this.#allocator.complete(pod, name, signal)) this.#unwritten.add(uid);
    await this.#writeFor(uid);
  }

  holds(uid: string): boolean {
    return this.#records.hasPod(uid);
  }

  async release(uid: string): Promise<void> {
    if (this.#records.release(uid)) this.#unwritten.add(uid);
    await this.#writeFor(uid);
  }

  #hints(
    numaNodes: readonly number[],
    requests: ReadonlyMap<string, number>,
    of: (resource: string) => { readonly held: readonly string[]; readonly reusable: ReadonlySet<string> },
  ): TopologyHints {
    return new Map(
      Array.from(requests, ([resource, count]) => {
        const devices: Devices = this.#stock.devices(resource) ?? new Map<string, Device>();
        const allocated = this.#records.allocated(resource);
        return [resource, deviceHints({ ...of(resource), devices, count, allocated, numaNodes })];
      }),
    );
  }

  /** What the container's configuration gets from its devices. Rejects if the container must not be created. */
  async additions(pod: Pod, container: Container | EphemeralContainer): Promise<ContainerAdditions> {
    const requests = this.#allocator.requests(container);
    const { uid } = pod.metadata;
    if (requests.size === 0) return {};
    const isMissing = [...requests].some(
      ([resource, count]) =>
        count > 0 && this.#records.find(uid, container.name, resource)?.answer === undefined,
    );
    if (isMissing) await this.#allocateLate(pod, container);
    if (this.#unwritten.has(uid)) await this.#writeFor(uid);
    for (const [resource, count] of requests)
      if (count > 0) await this.#preStart(uid, container.name, resource);
    const held = this.#heldBy(uid, container.name);
    const added = containerDevices(held.flatMap(({ answer }) => answer ?? []));
    if (held.length === 0) return added;
    const names = held.map(({ resource, ids }) => [resource, ids.toSorted()] as const);
    const text = JSON.stringify(Object.fromEntries(names.toSorted()));
    return { ...added, annotations: { ...added.annotations, [DEVICES_ANNOTATION]: text } };
  }

  /** For a pod that runs and has no record of its devices. If this fails, the next try chooses devices again. */
  async #allocateLate(pod: Pod, container: Container | EphemeralContainer): Promise<void> {
    try {
      this.#allocator.reserve(pod, container, undefined);
      await this.#allocator.complete(pod, container.name, this.#life.signal);
    } catch (error) {
      this.#records.dropReserved(pod.metadata.uid, container.name);
      throw error;
    }
    this.#unwritten.add(pod.metadata.uid);
  }

  async #preStart(uid: string, container: string, resource: string): Promise<void> {
    const plugin = this.#stock.plugin(resource);
    if (plugin?.options.preStartRequired !== true) return;
    const ids = this.#records.find(uid, container, resource)?.ids;
    if (ids === undefined) {
      const what = `pod ${uid}, container ${container}, resource ${resource}`;
      throw new StateletError('FailedPrecondition', `no devices found allocated in local cache for ${what}`);
    }
    try {
      const answer = plugin.preStartContainer(ids, this.#life.signal);
      await this.#waits.during({ uid, resource, call: 'PreStartContainer' }, answer);
    } catch (error) {
      const problem = `device plugin PreStartContainer rpc failed with err: ${errorMessage(error)}`;
      throw new StateletError('FailedPrecondition', problem, { cause: error });
    }
  }

  /** Frees the devices of pods that ended while no agent ran: they still have a record. */
  #takeBack(except: string): void {
    const ended = this.#records.pods.filter(
      (uid) => uid !== except && this.#view.isPodTerminated(uid) && !this.#runs(uid),
    );
    for (const uid of ended) this.#records.release(uid);
    if (ended.length > 0) this.#writeLater();
  }

  /**
   * The checkpoint must have the pod's devices before its containers use them. This also repeats a write that failed, or was not
   * awaited.
   */
  async #writeFor(uid: string): Promise<void> {
    if (!this.#unwritten.has(uid)) return;
    await this.#write();
    this.#unwritten.delete(uid);
  }

  #writeLater(): void {
    this.#write().catch((error: unknown) => {
      this.#context.logger.warn({}, `Devices: ${errorMessage(error)}`);
    });
  }

  #runs(uid: string): boolean {
    for (const pod of this.#view.pods()) if (pod.uid === uid) return isRunning(pod);
    return false;
  }

  #change(resource: string, change: () => void): void {
    if (!this.#stock.has(resource)) return;
    change();
    this.#writeLater();
    const holders = this.#holdersOfChanged(resource);
    if (holders.length > 0) this.healthChanges.next(holders);
    this.changes.next();
  }

  /** UIDs of the pods with devices whose health differs from what was last reported. */
  #holdersOfChanged(resource: string): readonly string[] {
    const before = this.#reported.get(resource);
    const after = this.#stock.servedDevices(resource);
    if (after === undefined) this.#reported.delete(resource);
    else this.#reported.set(resource, after);
    if (before === undefined || after === undefined)
      return before === after ? [] : this.#records.holders(resource);
    const ids = [...before.keys(), ...after.keys()];
    const changed = ids.filter((id) => before.get(id)?.isHealthy !== after.get(id)?.isHealthy);
    return this.#records.holders(resource, new Set(changed));
  }

  #write(): Promise<void> {
    return this.#file.write(() => this.#content());
  }

  #content(): DevicesCheckpoint {
    const registered = this.#stock.names.map((name) => [name, this.#stock.healthy(name)] as const);
    return {
      entries: this.#records.entries(),
      registered: Object.fromEntries<readonly string[]>(registered),
    };
  }
}

function heldOnNode(resourceName: string, node: number, deviceIDs: readonly string[]): HeldDevices {
  return { resourceName, deviceIDs, ...(node !== WITHOUT_NUMA_NODE && { numaNodes: [node] }) };
}
