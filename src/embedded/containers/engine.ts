import { randomBytes } from 'node:crypto';
import { closeSync, constants, fchmodSync, fchownSync, mkdirSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { removePrivateSync, removeTree } from '../../system/files/remove-tree.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import type {
  ContainerConfig,
  ContainerEvent,
  ContainerEventType,
  PodSandboxConfig,
  PodSandboxMetadata,
} from '../../types/cri.ts';
import { nowNs } from '../../agent/runtime/logs/start-clock.ts';
import { Container, type ContainerHost } from './container.ts';
import { ContainerCgroups } from './container-cgroup.ts';
import { containerStreams, validateContainer } from './container-spec.ts';
import { userOf } from './launch.ts';
import type { RuntimeLayout } from '../layout.ts';
import { OomKills } from './oom-kills.ts';
import { PipeStock } from './pipes.ts';
import type { Finding } from '../monitor/findings.ts';
import { RecordStore } from '../monitor/record-store.ts';
import type { ContainerRecord, SandboxRecord } from '../monitor/records.ts';
import { recover } from '../monitor/recovery.ts';
import { Sweeper } from './sweeper.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;

interface Sandbox {
  readonly record: SandboxRecord;
  /** No more containers are created or started in it. */
  stopping: boolean;
}

/** All sandboxes and containers of one root directory, with CRI's semantics. */
export class Engine {
  readonly #layout: RuntimeLayout;
  readonly #store: RecordStore;
  readonly #host: ContainerHost;
  readonly #sandboxes = new Map<string, Sandbox>();
  readonly #containers = new Map<string, Container>();
  readonly pipes: PipeStock;
  #findings: readonly Finding[];
  #ending = false;
  /** Resolves when nothing runs any more of containers that could not be taken over. Nothing may be started before. */
  readonly lostEnded: Promise<void>;

  constructor(
    layout: RuntimeLayout,
    log: (message: string) => void,
    onEvent: (event: ContainerEvent) => void,
    /** What was found damaged before. */
    found: readonly Finding[] = [],
  ) {
    this.#layout = layout;
    this.#store = new RecordStore(layout);
    this.pipes = new PipeStock(layout.pipesDir);
    this.#host = {
      layout,
      store: this.#store,
      sweeper: new Sweeper(log),
      oomKills: new OomKills(),
      cgroups: new ContainerCgroups(log),
      log,
      emit: (type, record) => this.#emit(onEvent, type, record),
    };
    const { sandboxes, containers, findings, ended } = recover(this.#host);
    this.#findings = [...found, ...findings];
    for (const { message } of this.#findings) log(message);
    this.lostEnded = ended;
    for (const record of sandboxes) {
      this.#sandboxes.set(record.id, { record, stopping: record.state !== 'SANDBOX_READY' });
    }
    for (const container of containers) this.#containers.set(container.record.id, container);
  }

  /** Whether a monitor is needed: for a sandbox that is ready, or a container that is not at its end. */
  get busy(): boolean {
    return (
      this.sandboxes().some(({ state }) => state === 'SANDBOX_READY') ||
      [...this.#containers.values()].some((container) => container.busy)
    );
  }

  sandboxes(): SandboxRecord[] {
    return [...this.#sandboxes.values()].map(({ record }) => record);
  }

  containers(): ContainerRecord[] {
    return [...this.#containers.values()].map(({ record }) => record);
  }

  sandbox(id: string): SandboxRecord {
    return this.#sandbox(id).record;
  }

  container(id: string): Container {
    const container = this.#containers.get(id);
    if (!container) throw new StateletError('NotFound', `there is no container ${id}`);
    return container;
  }

  runPodSandbox(config: PodSandboxConfig): string {
    if (this.#ending) throw new StateletError('Unavailable', 'the monitor was told to end');
    const { namespace, name, attempt } = config.metadata;
    const twin = this.sandboxes().find((record) => sameSandbox(record.config.metadata, config.metadata));
    if (twin) {
      const message = `pod ${namespace}/${name} has a sandbox of attempt ${attempt} already: ${twin.id}`;
      throw new StateletError('AlreadyExists', message);
    }
    const record: SandboxRecord = { id: newId(), config, createdAt: Number(nowNs()), state: 'SANDBOX_READY' };
    try {
      this.#makeScratch(record.id);
      this.#store.addSandbox(record);
    } catch (error) {
      removePrivateSync(this.#layout.podScratch(record.id));
      this.#store.removeSandbox(record.id);
      throw error;
    }
    this.#sandboxes.set(record.id, { record, stopping: false });
    return record.id;
  }

  async stopPodSandbox(id: string): Promise<void> {
    const sandbox = this.#sandboxes.get(id);
    if (!sandbox) return;
    sandbox.stopping = true;
    await Promise.all(this.#containersOf(id).map((container) => container.stop(0)));
    if (sandbox.record.state === 'SANDBOX_NOTREADY') return;
    sandbox.record.state = 'SANDBOX_NOTREADY';
    this.#saveState(sandbox.record);
  }

  async removePodSandbox(id: string): Promise<void> {
    if (!this.#sandboxes.has(id)) return;
    await this.stopPodSandbox(id);
    await Promise.all(this.#containersOf(id).map(({ record }) => this.removeContainer(record.id)));
    await removeTree(this.#layout.podScratch(id));
    this.#store.removeSandbox(id);
    this.#sandboxes.delete(id);
  }

  async createContainer(sandboxId: string, config: ContainerConfig): Promise<string> {
    validateContainer(config);
    this.#mayCreate(sandboxId, config);
    const id = newId();
    mkdirSync(this.#layout.containerDir(id), { mode: 0o700 });
    try {
      const paths = containerStreams(config).map((stream) => this.#layout.pipe(id, stream));
      await this.pipes.place(paths, userOf(config));
      if (config.mounts?.length) mkdirSync(this.#layout.mountDir(id), { mode: 0o700 });
      // While the pipes were made, the sandbox may have been stopped, or the name used.
      this.#register(this.#mayCreate(sandboxId, config), id, config);
    } catch (error) {
      this.#store.removeContainer(id);
      throw error;
    }
    return id;
  }

  async startContainer(id: string): Promise<void> {
    const container = this.container(id);
    if (this.#sandbox(container.record.podSandboxId).stopping) throw notReady(container.record.podSandboxId);
    await container.start();
  }

  async stopContainer(id: string, timeoutSeconds: number): Promise<void> {
    await this.#containers.get(id)?.stop(timeoutSeconds);
  }

  async removeContainer(id: string): Promise<void> {
    const container = this.#containers.get(id);
    await container?.stop(0);
    if (!container || !this.#containers.delete(id)) return;
    this.#store.removeContainer(id);
    await rm(this.#layout.terminationFile(container.record.podSandboxId, id), { force: true });
    this.#host.emit('CONTAINER_DELETED_EVENT', container.record);
  }

  /** What was found damaged at the start. Each finding is given once. */
  takeFindings(): readonly Finding[] {
    const findings = this.#findings;
    this.#findings = [];
    return findings;
  }

  /** Ends all containers. Nothing is started from now on. */
  async shutDown(timeoutSeconds: number): Promise<void> {
    this.#ending = true;
    for (const sandbox of this.#sandboxes.values()) sandbox.stopping = true;
    await Promise.all([...this.#containers.values()].map((container) => container.stop(timeoutSeconds)));
  }

  /**
   * Pods are stopped even if the disk is full: the next monitor would find the sandbox ready, and be asked to stop it
   * again.
   */
  #saveState(record: SandboxRecord): void {
    try {
      this.#store.saveSandbox(record);
    } catch (error) {
      this.#host.log(`the state of pod sandbox ${record.id} could not be saved: ${errorMessage(error)}`);
    }
  }

  #sandbox(id: string): Sandbox {
    const sandbox = this.#sandboxes.get(id);
    if (!sandbox) throw new StateletError('NotFound', `there is no pod sandbox ${id}`);
    return sandbox;
  }

  #containersOf(sandboxId: string): Container[] {
    return [...this.#containers.values()].filter(({ record }) => record.podSandboxId === sandboxId);
  }

  #mayCreate(sandboxId: string, { metadata }: ContainerConfig): SandboxRecord {
    const sandbox = this.#sandbox(sandboxId);
    if (sandbox.stopping) throw notReady(sandboxId);
    const twin = this.#containersOf(sandboxId).find(
      ({ record: { config } }) =>
        config.metadata.name === metadata.name && config.metadata.attempt === metadata.attempt,
    );
    if (!twin) return sandbox.record;
    const message = `the sandbox has a container "${metadata.name}" of attempt ${metadata.attempt} already: ${twin.record.id}`;
    throw new StateletError('AlreadyExists', message);
  }

  #register(sandbox: SandboxRecord, id: string, config: ContainerConfig): void {
    this.#makeTerminationFile(sandbox.id, id, config);
    const createdAt = Number(nowNs());
    const record: ContainerRecord = {
      id,
      podSandboxId: sandbox.id,
      config,
      createdAt,
      state: 'CONTAINER_CREATED',
      startedAt: 0,
    };
    this.#store.addContainer(record);
    this.#containers.set(id, new Container(this.#host, sandbox, record));
    this.#host.emit('CONTAINER_CREATED_EVENT', record);
  }

  #makeScratch(sandboxId: string): void {
    mkdirSync(this.#layout.podScratch(sandboxId), { mode: 0o711 });
    mkdirSync(this.#layout.terminationDir(sandboxId), { mode: 0o711 });
    mkdirSync(this.#layout.workDir(sandboxId), { mode: 0o700 });
    // The mode of /tmp: the containers of a pod may run as different users.
    if (process.getuid?.() !== 0) return;
    const folder = openSync(this.#layout.workDir(sandboxId), O_DIRECTORY | O_NOFOLLOW);
    fchmodSync(folder, 0o1777);
    closeSync(folder);
  }

  #makeTerminationFile(sandboxId: string, id: string, config: ContainerConfig): void {
    const file = this.#layout.terminationFile(sandboxId, id);
    const fd = openSync(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    const user = userOf(config);
    if (user) fchownSync(fd, user.uid, user.gid);
    closeSync(fd);
  }

  #emit(onEvent: (event: ContainerEvent) => void, type: ContainerEventType, record: ContainerRecord): void {
    const podSandboxMetadata = this.#sandboxes.get(record.podSandboxId)?.record.config.metadata;
    if (!podSandboxMetadata) return;
    onEvent({
      containerId: record.id,
      containerEventType: type,
      createdAt: Number(nowNs()),
      podSandboxMetadata,
    });
  }
}

const newId = (): string => randomBytes(32).toString('hex');

const notReady = (id: string): StateletError =>
  new StateletError('FailedPrecondition', `pod sandbox ${id} is not ready`);

function sameSandbox(a: PodSandboxMetadata, b: PodSandboxMetadata): boolean {
  return a.name === b.name && a.namespace === b.namespace && a.uid === b.uid && a.attempt === b.attempt;
}
