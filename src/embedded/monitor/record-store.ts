import { chmodSync, existsSync, lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../../system/make-folder.ts';
import { errorMessage } from '../../types/errors.ts';
import { removePrivateSync } from '../../system/files/remove-tree.ts';
import { readPlainFile } from '../../system/plain-file.ts';
import { fileOfDraft, removeDraft, replaceFileSync } from '../../system/replace-file.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { bootId } from '../containers/proc.ts';
import { RECORD_ID, type RuntimeLayout } from '../layout.ts';
import {
  type Beginning,
  type ContainerRecord,
  isContainerBeginning,
  isSandboxBeginning,
  isWholeContainer,
  isWholeSandbox,
  type SandboxRecord,
} from './records.ts';

/** What the disk has of a sandbox or container. */
export type Entry<T extends SandboxRecord | ContainerRecord> = WholeEntry<T> | BegunEntry<T> | LostEntry;

interface WholeEntry<T> {
  readonly kind: 'whole';
  readonly record: T;
  /** Whether it was written since the machine has booted. */
  readonly sameBoot: boolean;
}

/** The record says how it began; what has become of it since then cannot be read. */
export interface BegunEntry<T extends SandboxRecord | ContainerRecord> extends Damage {
  readonly kind: 'begun';
  readonly record: Beginning<T>;
  readonly sameBoot: boolean;
}

interface LostEntry extends Damage {
  readonly kind: 'lost';
}

interface Damage {
  readonly id: string;
  /** Names the file. */
  readonly problem: string;
  /** There is no file: the thing was half made or half removed, or the file was removed by somebody else. */
  readonly isMissing: boolean;
}

/** Far more than any record needs. */
const RECORD_BYTES_MAX = 64 * 1024 * 1024;

/**
 * The monitor's state on disk, from which the next monitor goes on if this one is killed. A new version of a file is
 * written beside it and then renamed, so that no kill leaves half a file. Nothing is synced to the disk: after a
 * crash of the machine no process is left anyway. Every record has a copy of how it began, which is written once and serves
 * when the record cannot be read.
 */
export class RecordStore {
  readonly #layout: RuntimeLayout;
  readonly #bootId = bootId();

  constructor(layout: RuntimeLayout) {
    this.#layout = layout;
    ownFolder(layout.sandboxesDir, 0o700);
    ownFolder(layout.copiesDir, 0o700);
    ownFolder(layout.containersDir, 0o700);
    // Containers may run as other users: they may pass through this folder, but not list it.
    ownFolder(layout.scratchDir, 0o711);
    for (const id of readdirSync(layout.containersDir)) letIn(layout.containerDir(id));
    this.#removeDrafts();
  }

  /** The copy first: a record that has none could not be restored. */
  addSandbox(record: SandboxRecord): void {
    this.#write(this.#layout.sandboxCopy(record.id), record);
    this.saveSandbox(record);
  }

  addContainer(record: ContainerRecord): void {
    this.#write(this.#layout.containerCopy(record.id), record);
    this.saveContainer(record);
  }

  /** Monitors before this version made no copies. */
  copySandbox(record: SandboxRecord): void {
    const copy = this.#layout.sandboxCopy(record.id);
    if (!existsSync(copy)) this.#write(copy, record);
  }

  copyContainer(record: ContainerRecord): void {
    const copy = this.#layout.containerCopy(record.id);
    if (!existsSync(copy)) this.#write(copy, record);
  }

  saveSandbox(record: SandboxRecord): void {
    this.#write(this.#layout.sandboxFile(record.id), record);
  }

  saveContainer(record: ContainerRecord): void {
    this.#write(this.#layout.containerFile(record.id), record);
  }

  /** Replaces what stands in place of the record, also a folder. */
  restoreSandbox(record: SandboxRecord): void {
    removePrivateSync(this.#layout.sandboxFile(record.id));
    this.addSandbox(record);
  }

  restoreContainer(record: ContainerRecord): void {
    removePrivateSync(this.#layout.containerFile(record.id));
    this.addContainer(record);
  }

  /** The file first: a copy without it is not a sandbox. */
  removeSandbox(id: string): void {
    removePrivateSync(this.#layout.sandboxFile(id));
    removePrivateSync(this.#layout.sandboxCopy(id));
  }

  removeContainer(id: string): void {
    // The file first: a folder without it is not a container.
    removePrivateSync(this.#layout.containerFile(id));
    removePrivateSync(this.#layout.containerDir(id));
  }

  sandboxes(): Entry<SandboxRecord>[] {
    const { sandboxesDir, copiesDir, sandboxFile, sandboxCopy, sandboxOfFile } = this.#layout;
    const names = [...readdirSync(sandboxesDir), ...readdirSync(copiesDir)];
    const ids = new Set(names.map((name) => sandboxOfFile(name)));
    ids.delete(undefined);
    return [...(ids as Set<string>)].map((id) => {
      const isBeginning = (value: unknown) => isSandboxBeginning(value, id);
      const files = { id, file: sandboxFile(id), copy: sandboxCopy(id) };
      return this.#entry(files, isBeginning, isWholeSandbox);
    });
  }

  containers(): Entry<ContainerRecord>[] {
    const { containersDir, containerFile, containerCopy } = this.#layout;
    return readdirSync(containersDir)
      .filter((name) => RECORD_ID.test(name))
      .map((id) => {
        const isBeginning = (value: unknown) => isContainerBeginning(value, id);
        const files = { id, file: containerFile(id), copy: containerCopy(id) };
        return this.#entry(files, isBeginning, isWholeContainer);
      });
  }

  /** Half-written files of a monitor that was killed. */
  #removeDrafts(): void {
    const { sandboxesDir, copiesDir, containersDir, containerFile, containerCopy } = this.#layout;
    for (const folder of [sandboxesDir, copiesDir]) {
      const drafts = readdirSync(folder).map((name) => fileOfDraft(name));
      for (const name of drafts) if (name !== undefined) removeDraft(join(folder, name));
    }
    for (const id of readdirSync(containersDir)) {
      removeDraft(containerFile(id));
      removeDraft(containerCopy(id));
    }
  }

  #write(file: string, record: SandboxRecord | ContainerRecord): void {
    replaceFileSync(file, JSON.stringify({ bootId: this.#bootId, record }), 0o600);
  }

  #entry<T extends SandboxRecord | ContainerRecord>(
    { id, file, copy }: RecordFiles,
    isBeginning: (value: unknown) => value is Beginning<T>,
    isWhole: (value: Beginning<T>) => value is Beginning<T> & T,
  ): Entry<T> {
    const stored = readRecord(file, isBeginning);
    if (!('problem' in stored) && isWhole(stored.record)) {
      return { kind: 'whole', record: stored.record, sameBoot: stored.bootId === this.#bootId };
    }
    const damage =
      'problem' in stored
        ? stored
        : { problem: `${file} does not say what has become of it`, isMissing: false };
    const begun = 'problem' in stored ? readRecord(copy, isBeginning) : stored;
    if ('problem' in begun) return { kind: 'lost', id, ...damage };
    return { kind: 'begun', id, ...damage, record: begun.record, sameBoot: begun.bootId === this.#bootId };
  }
}

function ownFolder(path: string, mode: number): void {
  makeFolderSync(path, mode);
  letIn(path);
}

/** A folder whose mode shuts out its own user is opened to it. What cannot be read all the same is reported with the records. */
function letIn(folder: string): void {
  try {
    const stats = lstatSync(folder);
    if (stats.isDirectory() && (stats.mode & 0o700) !== 0o700)
      chmodSync(folder, (stats.mode & 0o777) | 0o700);
  } catch {
    // It belongs to another user, or the file system has become read-only.
  }
}

interface RecordFiles {
  readonly id: string;
  readonly file: string;
  readonly copy: string;
}

function readRecord<T>(
  file: string,
  is: (value: unknown) => value is T,
): { readonly bootId: string; readonly record: T } | Omit<Damage, 'id'> {
  try {
    const stored = JSON.parse(readPlainFile(file, RECORD_BYTES_MAX)) as {
      bootId?: unknown;
      record?: unknown;
    } | null;
    const { bootId, record } = stored ?? {};
    if (typeof bootId === 'string' && is(record)) return { bootId, record };
    return { problem: `${file} has another form than a record`, isMissing: false };
  } catch (error) {
    const isMissing = errnoCode(error) === 'ENOENT';
    const why = error instanceof SyntaxError ? `${file} is no JSON` : errorMessage(error);
    return { problem: isMissing ? `${file} is missing` : why, isMissing };
  }
}
