import { readdirSync, readlinkSync } from 'node:fs';
import { podOfLabels } from '../../agent/policies/cri/cri-labels.ts';
import { removeTree } from '../../system/files/remove-tree.ts';
import { errorMessage } from '../../types/errors.ts';
import { Container, type ContainerHost } from '../containers/container.ts';
import {
  containerIn,
  environOf,
  type ProcessIdentity,
  type ProcessStat,
  processTable,
} from '../containers/proc.ts';
import { RECORD_ID, type RuntimeLayout } from '../layout.ts';
import { type Finding, foundContainer, foundSandbox, lostContainer, lostSandbox } from './findings.ts';
import type { BegunEntry, Entry } from './record-store.ts';
import type { ContainerRecord, SandboxRecord } from './records.ts';

export interface Recovered {
  readonly sandboxes: readonly SandboxRecord[];
  readonly containers: readonly Container[];
  readonly findings: readonly Finding[];
  /** Resolves when nothing runs any more of containers that could not be taken over. */
  readonly ended: Promise<void>;
}

/**
 * Takes over what an earlier monitor has left: its records, and the containers that still run; for those that have
 * ended meanwhile, their end is recorded. After a reboot no container runs, and no sandbox is ready. Of a record that cannot be
 * used the copy serves, and the container's process is found by its environment. Without a copy the container's processes are
 * killed: it must not run beside the instance that its pod starts in its place.
 */
export function recover(host: ContainerHost): Recovered {
  return new Recovery(host).recovered();
}

class Recovery {
  readonly #host: ContainerHost;
  readonly #sandboxes = new Map<string, SandboxRecord>();
  readonly #containers = new Map<string, Container>();
  readonly #findings: Finding[] = [];
  readonly #entries: readonly Entry<ContainerRecord>[];
  readonly #processes: ReadonlyMap<string, ContainerProcesses>;
  /** Containers whose processes are being killed. */
  readonly #ending = new Set<string>();
  readonly #ends: Promise<void>[] = [];

  constructor(host: ContainerHost) {
    this.#host = host;
    this.#entries = host.store.containers();
    const sandboxes = host.store.sandboxes();
    this.#processes = this.#findProcesses(sandboxes);
    for (const entry of sandboxes) this.#addSandbox(entry);
  }

  recovered(): Recovered {
    for (const entry of this.#entries) this.#addContainer(entry);
    this.#endStrangers();
    const ended = Promise.all(this.#ends).then(() => undefined);
    this.#removeRemnants();
    return {
      sandboxes: [...this.#sandboxes.values()],
      containers: [...this.#containers.values()],
      findings: this.#findings,
      ended,
    };
  }

  /** The table of all processes is read only where something may run, or a record does not say enough. */
  #findProcesses(sandboxes: readonly Entry<SandboxRecord>[]): ReadonlyMap<string, ContainerProcesses> {
    const { layout } = this.#host;
    const known = new Set(this.#entries.map(idOf));
    const wanted = new Set(this.#entries.filter(needsProcess).map(idOf));
    const ended = new Set(sandboxes.filter(hasEnded).map(idOf));
    const mayRun = idsBut(layout.scratchDir, (id) => ended.has(id)).length > 0;
    if (wanted.size === 0 && !mayRun) return new Map();
    return findContainerProcesses(
      layout,
      (id) => wanted.has(id),
      (id) => known.has(id),
    );
  }

  #addSandbox(entry: Entry<SandboxRecord>): void {
    const id = idOf(entry);
    if (entry.kind === 'whole') {
      const { record, sameBoot } = entry;
      this.#sandboxes.set(id, sameBoot ? record : { ...record, state: 'SANDBOX_NOTREADY' });
      if (sameBoot) this.#keep(() => this.#host.store.copySandbox(record));
      return;
    }
    const container = this.#containerIn(id);
    // A sandbox that was half made has no container, and one that is half removed has none any more.
    if (entry.isMissing && container === undefined) {
      this.#host.store.removeSandbox(id);
      return;
    }
    const restored = entry.kind === 'begun' ? restoredSandbox(entry) : undefined;
    const sandbox = restored ?? (container && sandboxOf(container));
    this.#findings.push(
      restored ? foundSandbox(restored, entry.problem) : lostSandbox(id, sandbox, entry.problem),
    );
    if (sandbox) this.#keep(() => this.#restoreSandbox(sandbox));
    else this.#host.store.removeSandbox(id);
  }

  #restoreSandbox(sandbox: SandboxRecord): void {
    this.#sandboxes.set(sandbox.id, sandbox);
    this.#host.store.restoreSandbox(sandbox);
  }

  #containerIn(sandboxId: string): BegunEntry<ContainerRecord>['record'] | undefined {
    return this.#entries
      .map((entry) => (entry.kind === 'lost' ? undefined : entry.record))
      .find((record) => record?.podSandboxId === sandboxId);
  }

  #addContainer(entry: Entry<ContainerRecord>): void {
    const processes = this.#processes.get(idOf(entry));
    // A folder without a record, whose container was half made or half removed.
    if (entry.kind !== 'whole' && entry.isMissing && processes === undefined) return;
    if (entry.kind === 'lost') {
      this.#end(entry.id, processes, entry.problem);
      return;
    }
    const { record } = entry;
    const sandbox = this.#sandboxes.get(record.podSandboxId) ?? this.#madeUp(record);
    if (entry.kind === 'whole') this.#takeOver(entry, sandbox, processes);
    else this.#restore(entry, sandbox, processes);
  }

  /** There is a container, so there was a sandbox. */
  #madeUp(record: BegunEntry<ContainerRecord>['record']): SandboxRecord {
    const sandbox = sandboxOf(record);
    const { sandboxFile } = this.#host.layout;
    this.#findings.push(lostSandbox(sandbox.id, sandbox, `${sandboxFile(sandbox.id)} is missing`));
    this.#keep(() => this.#restoreSandbox(sandbox));
    return sandbox;
  }

  #takeOver(
    { record, sameBoot }: Extract<Entry<ContainerRecord>, { kind: 'whole' }>,
    sandbox: SandboxRecord,
    processes: ContainerProcesses | undefined,
  ): void {
    const container = this.#add(sandbox, record);
    // A copy of an earlier boot would say that the container can still run.
    if (sameBoot) this.#keep(() => this.#host.store.copyContainer(record));
    if (record.state === 'CONTAINER_RUNNING') container.resume(sameBoot);
    // The monitor may have been killed between the start of a container and the record of it.
    if (record.state === 'CONTAINER_CREATED' && processes?.main) container.adopt(identityOf(processes.main));
  }

  #restore(
    { record: beginning, sameBoot, problem }: BegunEntry<ContainerRecord>,
    sandbox: SandboxRecord,
    processes: ContainerProcesses | undefined,
  ): void {
    const main = sameBoot ? processes?.main : undefined;
    this.#findings.push(foundContainer(beginning, sandbox, problem, main?.pid));
    const created: ContainerRecord = { ...begun(beginning), state: 'CONTAINER_CREATED', startedAt: 0 };
    this.#keep(() => this.#host.store.restoreContainer(created));
    if (main) {
      this.#add(sandbox, created).adopt(identityOf(main));
      return;
    }
    // Whether it has run is not known: it must not run a second time, so its end counts as seen.
    const ran: ContainerRecord = { ...created, state: 'CONTAINER_RUNNING', startedAt: created.createdAt };
    this.#add(sandbox, ran).resume(sameBoot);
  }

  #add(sandbox: SandboxRecord, record: ContainerRecord): Container {
    const container = new Container(this.#host, sandbox, record);
    this.#containers.set(record.id, container);
    return container;
  }

  /** Processes of containers that have neither a record nor a folder. */
  #endStrangers(): void {
    const known = new Set(this.#entries.map(idOf));
    for (const [id, processes] of this.#processes) {
      if (!known.has(id)) this.#end(id, processes, 'it has none');
    }
  }

  #end(id: string, processes: ContainerProcesses | undefined, problem: string): void {
    const { all = [], main, sandboxId = '' } = processes ?? {};
    const pids = all.map(({ pid }) => pid);
    this.#findings.push(lostContainer(id, this.#sandboxes.get(sandboxId), problem, pids));
    const remains = {
      containerId: id,
      sinceTicks: all[0]?.startTicks ?? 0,
      sessionId: main?.pid,
    };
    if (pids.length === 0) return;
    // The folder stays until then: by it the next monitor would know what is to be ended.
    this.#ending.add(id);
    const end = this.#host.sweeper.clear(remains);
    this.#ends.push(end.then(() => this.#remove(this.#host.layout.containerDir(id))));
  }

  /** If the disk is full, the next monitor finds the same damage. */
  #keep(write: () => void): void {
    try {
      write();
    } catch (error) {
      this.#host.log(`a record could not be restored: ${errorMessage(error)}`);
    }
  }

  /** Removes folders without a record: their sandbox or container was only half created, or half removed, or is lost. */
  #removeRemnants(): void {
    const { layout } = this.#host;
    const isInUse = (id: string) => this.#containers.has(id) || this.#ending.has(id);
    const remnants = [
      ...idsBut(layout.containersDir, isInUse).map((id) => layout.containerDir(id)),
      ...idsBut(layout.scratchDir, (id) => this.#sandboxes.has(id)).map((id) => layout.podScratch(id)),
    ];
    // Nothing waits for it: a pod may have left any number of files.
    for (const path of remnants) void this.#remove(path);
  }

  /** Never rejects. */
  async #remove(path: string): Promise<void> {
    await removeTree(path).catch((error: unknown) =>
      this.#host.log(`${path} could not be removed: ${errorMessage(error)}`),
    );
  }
}

const idOf = (entry: Entry<SandboxRecord | ContainerRecord>): string =>
  entry.kind === 'whole' ? entry.record.id : entry.id;

const identityOf = ({ pid, startTicks }: ProcessIdentity): ProcessIdentity => ({ pid, startTicks });

function hasEnded(entry: Entry<SandboxRecord>): boolean {
  return entry.kind === 'whole' && (!entry.sameBoot || entry.record.state === 'SANDBOX_NOTREADY');
}

function needsProcess(entry: Entry<ContainerRecord>): boolean {
  return entry.kind !== 'whole' || entry.record.state === 'CONTAINER_CREATED';
}

function restoredSandbox({ record, sameBoot }: BegunEntry<SandboxRecord>): SandboxRecord {
  const { id, config, createdAt } = record;
  return { id, config, createdAt, state: sameBoot ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY' };
}

function begun({ id, podSandboxId, config, createdAt }: BegunEntry<ContainerRecord>['record']) {
  return { id, podSandboxId, config, createdAt };
}

/**
 * The sandbox of a container whose record is lost, as far as the container shows it. It is not ready: the agent ends what runs in it
 * as the pod's spec says, and makes a new one. Its containers have no log.
 */
function sandboxOf({
  podSandboxId,
  config,
  createdAt,
}: BegunEntry<ContainerRecord>['record']): SandboxRecord {
  const pod = podOfLabels(config.labels);
  return {
    id: podSandboxId,
    config: {
      metadata: { ...pod, attempt: 0 },
      labels: config.labels,
      annotations: {},
      logDirectory: '',
    },
    createdAt,
    state: 'SANDBOX_NOTREADY',
  };
}

function idsBut(dir: string, isKnown: (id: string) => boolean): string[] {
  return readdirSync(dir).filter((name) => RECORD_ID.test(name) && !isKnown(name));
}

/** What runs of one container. */
interface ContainerProcesses {
  /** In the order of their start. */
  readonly all: readonly ProcessStat[];
  /** The main process, as far as it can be distinguished from commands that ran in the container. */
  readonly main: ProcessStat | undefined;
  /** By the path of a file in its environment. */
  readonly sandboxId: string | undefined;
}

/**
 * Every process of the machine whose environment names a container that is `wanted`, or one that has a file of this runtime and is
 * not `known`.
 */
function findContainerProcesses(
  layout: RuntimeLayout,
  isWanted: (containerId: string) => boolean,
  isKnown: (containerId: string) => boolean,
): ReadonlyMap<string, ContainerProcesses> {
  const found = new Map<string, { stats: ProcessStat[]; sandboxId: string | undefined }>();
  for (const stat of processTable()) {
    const environ = environOf(stat.pid);
    const id = containerIn(environ);
    if (id === undefined) continue;
    const sandboxId = sandboxIn(environ, layout);
    if (!isWanted(id) && (isKnown(id) || sandboxId === undefined)) continue;
    const processes = found.get(id) ?? { stats: [], sandboxId };
    processes.stats.push(stat);
    found.set(id, processes);
  }
  return new Map(
    [...found].map(([id, { stats, sandboxId }]) => [id, { ...sorted(stats, layout, id), sandboxId }]),
  );
}

/** The pod's scratch folder is named in HOME, or as the place of the termination message. */
function sandboxIn(environ = '', { scratchDir }: RuntimeLayout): string | undefined {
  const start = environ.indexOf(`=${scratchDir}/`);
  if (start < 0) return undefined;
  const id = environ.slice(start + scratchDir.length + 2).split(/[/\0]/, 1)[0];
  return id;
}

/**
 * A container's main process leads a session, like every command in the container. It has started first, and has the container's
 * pipes unless it has closed them.
 */
function sorted(
  stats: readonly ProcessStat[],
  layout: RuntimeLayout,
  id: string,
): Omit<ContainerProcesses, 'sandboxId'> {
  const all = stats.toSorted((a, b) => a.startTicks - b.startTicks);
  const leaders = all.filter(({ pid, sessionId }) => pid === sessionId);
  const pipes = layout.containerDir(id);
  const main = leaders.find(({ pid }) => hasFileBelow(pid, pipes)) ?? leaders[0];
  return { all, main };
}

function hasFileBelow(pid: number, folder: string): boolean {
  try {
    const descriptors = `/proc/${pid}/fd`;
    return readdirSync(descriptors).some((fd) =>
      readlinkSync(`${descriptors}/${fd}`).startsWith(`${folder}/`),
    );
  } catch {
    return false;
  }
}
