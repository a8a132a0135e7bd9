import { POD_UID_LABEL } from '../../agent/policies/cri/cri-labels.ts';
import type { Clock } from '../../types/clock.ts';
import type {
  Container,
  ContainerConfig,
  ContainerEventType,
  ContainerFilter,
  Image,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
} from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';
import type { CallName } from './chance.ts';
import { type ContainerHost, SimulatedContainer } from './simulated-container.ts';
import type { Program } from './simulated-program.ts';
import { SimulatedSandbox } from './simulated-sandbox.ts';
import type { CallUnderWay, RuntimeWitness } from './witness.ts';

/** The UID of the pod of a sandbox or a container; empty for an unknown id. */
export function uidOfId(id: string): string {
  return id.slice(0, Math.max(0, id.lastIndexOf('.')));
}

/** At most this many pods that have nothing left are remembered, so that a pod that returns gets ids that it never had. */
const REMEMBERED_PODS = 1000;

export interface WorldOptions {
  readonly clock: Clock;
  readonly programOf: (words: readonly string[]) => Program;
  readonly witness: RuntimeWitness;
  readonly tell: (type: ContainerEventType, id: string, sandbox: SimulatedSandbox) => void;
}

/**
 * The pods, sandboxes and containers of a simulated node, and what calls change in them, with CRI's semantics. Every
 * change takes place at once. Ids begin with the pod's UID and are counted per pod, so that they do not depend on
 * other pods.
 */
export class World {
  readonly #options: WorldOptions;
  readonly #host: ContainerHost;
  readonly #pods = new Map<string, SimulatedPod>();
  readonly #emptyPods = new Set<SimulatedPod>();
  readonly #sandboxes = new Map<string, SimulatedSandbox>();
  readonly #containers = new Map<string, SimulatedContainer>();

  constructor(options: WorldOptions) {
    const { witness, tell } = options;
    this.#options = options;
    this.#host = {
      clock: options.clock,
      started: (container, connection) => {
        witness.containerStarted?.(container, connection);
        tell('CONTAINER_STARTED_EVENT', container.id, this.sandbox(container.sandboxId));
      },
      ended: (container, connection) => {
        witness.containerEnded?.(container, connection);
        tell('CONTAINER_STOPPED_EVENT', container.id, this.sandbox(container.sandboxId));
      },
    };
  }

  pods(): IterableIterator<SimulatedPod> {
    return this.#pods.values();
  }

  pod(uid: string): SimulatedPod {
    let pod = this.#pods.get(uid);
    if (pod === undefined) {
      pod = new SimulatedPod(uid);
      this.#pods.set(uid, pod);
    }
    return pod;
  }

  knownPod(uid: string): SimulatedPod | undefined {
    return this.#pods.get(uid);
  }

  openCalls(): readonly OpenCall[] {
    return [...this.#pods.values()].flatMap(({ calls }) => [...calls]);
  }

  /**
   * The pod of a sandbox or a container, even if that has been removed; for an unknown id, the entry that stands for
   * the node.
   */
  podOf(id: string): SimulatedPod {
    return this.pod(uidOfId(id));
  }

  /** A call about the pod is over: if nothing of the pod is left, it may be forgotten. */
  forgetIfEmpty(pod: SimulatedPod): void {
    if (!pod.isEmpty()) return;
    this.#emptyPods.delete(pod);
    this.#emptyPods.add(pod);
    if (this.#emptyPods.size <= REMEMBERED_PODS) return;
    for (const oldest of this.#emptyPods) {
      this.#emptyPods.delete(oldest);
      if (oldest.isEmpty()) this.#pods.delete(oldest.uid);
      return;
    }
  }

  container(id: string): SimulatedContainer {
    const container = this.#containers.get(id);
    if (container === undefined) throw new StateletError('NotFound', `there is no container ${id}`);
    return container;
  }

  findContainer(id: string): SimulatedContainer | undefined {
    return this.#containers.get(id);
  }

  sandbox(id: string): SimulatedSandbox {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) throw new StateletError('NotFound', `there is no pod sandbox ${id}`);
    return sandbox;
  }

  runPodSandbox(
    config: PodSandboxConfig,
    runtimeHandler: string | undefined,
    connection: number,
  ): SimulatedSandbox {
    const { clock, witness, tell } = this.#options;
    const { uid, name, namespace, attempt } = config.metadata;
    const pod = this.pod(uid);
    const twin = pod.sandboxes.find(
      ({ metadata }) =>
        metadata.attempt === attempt && metadata.name === name && metadata.namespace === namespace,
    );
    if (twin !== undefined) {
      const message = `pod ${namespace}/${name} has a sandbox of attempt ${attempt} already: ${twin.id}`;
      throw new StateletError('AlreadyExists', message);
    }
    const id = `${uid}.s${pod.next('Sandbox')}`;
    const sandbox = new SimulatedSandbox(config, { id, createdAt: clock.now(), runtimeHandler });
    pod.sandboxes.push(sandbox);
    this.#sandboxes.set(id, sandbox);
    witness.sandboxStarted?.(sandbox, connection);
    tell('CONTAINER_CREATED_EVENT', id, sandbox);
    tell('CONTAINER_STARTED_EVENT', id, sandbox);
    return sandbox;
  }

  /** Ends the containers first, even if the sandbox has died before them. */
  stopPodSandbox(id: string, connection: number | undefined): void {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) return;
    for (const container of sandbox.containers) container.kill(connection);
    this.endSandbox(sandbox, connection);
  }

  /** Ends the sandbox alone: its containers run on. */
  endSandbox(sandbox: SimulatedSandbox, connection: number | undefined): void {
    if (!sandbox.ready) return;
    sandbox.ready = false;
    this.#options.witness.sandboxEnded?.(sandbox, connection);
    this.#options.tell('CONTAINER_STOPPED_EVENT', sandbox.id, sandbox);
  }

  removePodSandbox(id: string, connection: number): void {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) return;
    this.stopPodSandbox(id, connection);
    for (const container of [...sandbox.containers]) this.removeContainer(container.id, connection);
    this.#sandboxes.delete(id);
    const { sandboxes } = this.pod(sandbox.uid);
    sandboxes.splice(sandboxes.indexOf(sandbox), 1);
    this.#options.tell('CONTAINER_DELETED_EVENT', id, sandbox);
  }

  createContainer(sandboxId: string, config: ContainerConfig): string {
    const sandbox = this.sandbox(sandboxId);
    if (!sandbox.ready) throw notReady(sandboxId);
    const { name, attempt } = config.metadata;
    const twin = sandbox.containers.find(
      ({ metadata }) => metadata.attempt === attempt && metadata.name === name,
    );
    if (twin !== undefined) {
      const message = `the sandbox has a container "${name}" of attempt ${attempt} already: ${twin.id}`;
      throw new StateletError('AlreadyExists', message);
    }
    const id = `${sandbox.uid}.c${this.pod(sandbox.uid).next('Container')}`;
    const program = this.#options.programOf([...config.command, ...config.args]);
    const container = new SimulatedContainer(this.#host, sandbox, { id, config, program });
    sandbox.containers.push(container);
    this.#containers.set(id, container);
    this.#options.tell('CONTAINER_CREATED_EVENT', id, sandbox);
    return id;
  }

  startContainer(id: string, connection: number): void {
    const container = this.container(id);
    const { ready, id: sandboxId } = this.sandbox(container.sandboxId);
    if (!ready) throw notReady(sandboxId);
    container.start(connection);
  }

  removeContainer(id: string, connection: number): void {
    const container = this.#containers.get(id);
    if (container === undefined) return;
    container.kill(connection);
    this.#containers.delete(id);
    const sandbox = this.sandbox(container.sandboxId);
    sandbox.containers.splice(sandbox.containers.indexOf(container), 1);
    this.#options.tell('CONTAINER_DELETED_EVENT', id, sandbox);
  }

  listPodSandbox(filter: PodSandboxFilter): readonly PodSandbox[] {
    const found: PodSandbox[] = [];
    for (const sandbox of this.#sandboxesFor(filter)) {
      const listed = sandbox.listed();
      if (passes(listed, filter)) found.push(listed);
    }
    return found;
  }

  listContainers(filter: ContainerFilter): readonly Container[] {
    const found: Container[] = [];
    for (const container of this.#containersFor(filter)) {
      const listed = container.listed();
      if (passes(listed, filter)) found.push(listed);
    }
    return found;
  }

  /** All sandboxes that may pass the filter: found by id or pod where the filter names one. */
  #sandboxesFor({ id, labelSelector }: PodSandboxFilter): Iterable<SimulatedSandbox> {
    if (id !== undefined) return present(this.#sandboxes.get(id));
    const uid = labelSelector?.[POD_UID_LABEL];
    return uid === undefined ? this.#sandboxes.values() : (this.#pods.get(uid)?.sandboxes ?? []);
  }

  #containersFor({ id, podSandboxId, labelSelector }: ContainerFilter): Iterable<SimulatedContainer> {
    if (id !== undefined) return present(this.#containers.get(id));
    if (podSandboxId !== undefined) return this.#sandboxes.get(podSandboxId)?.containers ?? [];
    const uid = labelSelector?.[POD_UID_LABEL];
    if (uid === undefined) return this.#containers.values();
    return this.#pods.get(uid)?.sandboxes.flatMap(({ containers }) => containers) ?? [];
  }
}

const present = <T>(item: T | undefined): readonly T[] => (item === undefined ? [] : [item]);

const notReady = (id: string): StateletError =>
  new StateletError('FailedPrecondition', `pod sandbox ${id} is not ready`);

interface Filter {
  readonly id?: string;
  readonly podSandboxId?: string;
  readonly state?: string;
  readonly labelSelector?: Readonly<Record<string, string>>;
}

function passes(
  listed: { id: string; podSandboxId?: string; state: string; labels: Readonly<Record<string, string>> },
  { id, podSandboxId, state, labelSelector }: Filter,
): boolean {
  if (id !== undefined && listed.id !== id) return false;
  if (podSandboxId !== undefined && listed.podSandboxId !== podSandboxId) return false;
  if (state !== undefined && listed.state !== state) return false;
  for (const key in labelSelector) if (listed.labels[key] !== labelSelector[key]) return false;
  return true;
}

/** An image is present once it was pulled. One whose name contains `missing` cannot be pulled. */
export class SimulatedImages {
  readonly #bytesOf: (image: string) => number;
  readonly #images = new Map<string, Image>();

  constructor(bytesOf: (image: string) => number) {
    this.#bytesOf = bytesOf;
  }

  pull(image: string): string {
    if (image.includes('missing')) {
      throw new StateletError('NotFound', `image "${image}" is in no registry: it is called missing`);
    }
    this.#images.set(image, { id: image, repoTags: [image], size: this.#bytesOf(image) });
    return image;
  }

  find(image: string): Image | undefined {
    return this.#images.get(image);
  }

  list(): readonly Image[] {
    return [...this.#images.values()];
  }

  remove(image: string): void {
    this.#images.delete(image);
  }
}

/** A call that can be ended from outside. */
export interface OpenCall extends CallUnderWay {
  /** The caller's process is gone: the call is not answered. */
  cut(): void;
  /** The caller has closed its connection. */
  close(): void;
  /** The runtime goes down. */
  breakOff(): void;
}

/** What a runtime knows of one pod. Calls about the node or an image, not a pod, have such an entry too. */
export class SimulatedPod {
  readonly uid: string;
  readonly sandboxes: SimulatedSandbox[] = [];
  readonly calls = new Set<OpenCall>();
  /** Unix milliseconds, when the latest event of the pod is due: no later event may come before it. */
  lastEventAt = 0;
  /** Sends the next event: one for each timer that is armed. */
  readonly eventsToTell: (() => void)[] = [];
  readonly #ordinals: Partial<Record<Counted, number>> = {};

  constructor(uid: string) {
    this.uid = uid;
  }

  /** Counts one more, and returns how many there have been. */
  next(what: Counted): number {
    const ordinal = (this.#ordinals[what] ?? 0) + 1;
    this.#ordinals[what] = ordinal;
    return ordinal;
  }

  isEmpty(): boolean {
    return this.sandboxes.length === 0 && this.calls.size === 0;
  }
}

type Counted = CallName | 'Event' | 'Sandbox' | 'Container';
