import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type {
  ContainerConfig,
  ContainerStateName,
  PodSandboxConfig,
  PodSandboxState,
} from '../../../types/cri.ts';
import { fileOfDraft, removeDraft, replaceFileSync } from '../../../system/replace-file.ts';
import { bootId } from '../containers/proc.ts';
import type { ProcessIdentity } from '../containers/proc.ts';
import type { RuntimeLayout } from '../layout.ts';

export interface SandboxRecord {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly createdAt: number;
  state: PodSandboxState;
}

/** How a container's main process ended. */
export interface Exit {
  readonly exitCode: number;
  readonly reason: string;
  readonly finishedAt: number;
  /** Empty until the container's own message has been read. */
  readonly message: string;
}

export interface ContainerRecord {
  readonly id: string;
  readonly podSandboxId: string;
  readonly config: ContainerConfig;
  readonly createdAt: number;
  state: ContainerStateName;
  startedAt: number;
  /** The main process, once it was started. */
  process?: ProcessIdentity;
  /** Set before the state is CONTAINER_EXITED: in between, processes that the main process has left behind are killed. */
  exit?: Exit;
}

/** A record on disk, and whether it was written since the machine has booted. */
interface Stored<T> {
  readonly record: T;
  readonly sameBoot: boolean;
}

/**
 * The monitor's state on disk, from which the next monitor goes on if this one is killed. A new version of a file is
 * written beside it and then renamed, so that no kill leaves half a file. Nothing is synced to the disk: after a
 * crash of the machine no process is left anyway, and a file that cannot be read is left out.
 */
export class RecordStore {
  readonly #layout: RuntimeLayout;
  readonly #bootId = bootId();

  constructor(layout: RuntimeLayout) {
    this.#layout = layout;
    mkdirSync(layout.sandboxesDir, { recursive: true, mode: 0o700 });
    mkdirSync(layout.containersDir, { recursive: true, mode: 0o700 });
    // Containers may run as other users: they may pass through this folder, but not list it.
    mkdirSync(layout.scratchDir, { recursive: true, mode: 0o711 });
    this.#removeDrafts();
  }

  saveSandbox(record: SandboxRecord): void {
    this.#write(this.#layout.sandboxFile(record.id), record);
  }

  saveContainer(record: ContainerRecord): void {
    this.#write(this.#layout.containerFile(record.id), record);
  }

  removeSandbox(id: string): void {
    rmSync(this.#layout.sandboxFile(id), { force: true });
  }

  removeContainer(id: string): void {
    // The file first: a folder without it is not a container.
    rmSync(this.#layout.containerFile(id), { force: true });
    rmSync(this.#layout.containerDir(id), { recursive: true, force: true });
  }

  /** Unreadable files are reported and left out. */
  sandboxes(onUnreadable: (file: string) => void): Stored<SandboxRecord>[] {
    const names = readdirSync(this.#layout.sandboxesDir).filter((name) => name.endsWith('.json'));
    const files = names.map((name) => this.#layout.sandboxFile(name.slice(0, -'.json'.length)));
    return files.flatMap((file) => this.#read(file, onUnreadable) as Stored<SandboxRecord>[]);
  }

  containers(onUnreadable: (file: string) => void): Stored<ContainerRecord>[] {
    const files = readdirSync(this.#layout.containersDir).map((id) => this.#layout.containerFile(id));
    return files.flatMap((file) => this.#read(file, onUnreadable) as Stored<ContainerRecord>[]);
  }

  /** Half-written files of a monitor that was killed. */
  #removeDrafts(): void {
    const { sandboxesDir, containersDir, containerFile } = this.#layout;
    const drafts = readdirSync(sandboxesDir).map((name) => fileOfDraft(name));
    for (const name of drafts) if (name !== undefined) removeDraft(join(sandboxesDir, name));
    for (const id of readdirSync(containersDir)) removeDraft(containerFile(id));
  }

  #write(file: string, record: SandboxRecord | ContainerRecord): void {
    replaceFileSync(file, JSON.stringify({ bootId: this.#bootId, record }), 0o600);
  }

  #read(file: string, onUnreadable: (file: string) => void): Stored<unknown>[] {
    try {
      const stored = JSON.parse(readFileSync(file, 'utf8')) as { bootId: string; record: unknown };
      return [{ record: stored.record, sameBoot: stored.bootId === this.#bootId }];
    } catch {
      onUnreadable(file);
      return [];
    }
  }
}
