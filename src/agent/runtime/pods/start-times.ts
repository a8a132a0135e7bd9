/** When pods first started on this node. Kept on disk, so that a pod's age and deadline outlive the agent. */
import { open, readdir, rm, rmdir } from 'node:fs/promises';
import { constants } from 'node:fs';
import { basename } from 'node:path';
import { makeFolder } from '../../../system/make-folder.ts';
import { rfc3339, unixMs } from '../../policies/formats/time.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import { readForeignFile } from '../../../system/files/foreign-file.ts';
import { errnoCode, ifThere } from '../../../system/system-errors.ts';
import { podPaths, PRIVATE_FOLDER_MODE } from '../volumes/pod-paths.ts';

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_TRUNC, O_WRONLY } = constants;
const PRIVATE_FILE_MODE = 0o600;
/** A time and the end of its line. */
const RECORD_BYTES_MAX = 64;

/** `<podsDir>/<uid>/start-time`, one line in RFC 3339. Calls for one pod must not overlap. */
export class StartTimes {
  readonly #context: AgentContext;
  readonly #podsDir: string;
  readonly #known = new Map<string, { readonly startTime: string; saved: boolean }>();
  #warned = false;

  constructor(context: AgentContext, podsDir: string) {
    this.#context = context;
    this.#podsDir = podsDir;
  }

  /**
   * When the pod first started, in RFC 3339; `now` if there is no record. If the record cannot be written, each call tries
   * again, and the pod does not wait for it.
   */
  async of(uid: string, now: string): Promise<string> {
    let known = this.#known.get(uid);
    if (known === undefined) {
      const recorded = (await this.#isNew(uid)) ? undefined : await this.#read(uid);
      known = { startTime: recorded ?? now, saved: recorded !== undefined };
      this.#known.set(uid, known);
    }
    if (!known.saved) known.saved = await this.#save(uid, known.startTime);
    return known.startTime;
  }

  /** Forgets the pod. A later pod with the same UID begins anew. */
  async remove(uid: string): Promise<void> {
    this.#known.delete(uid);
    if (!(await this.#isRecorded(uid))) return;
    const { podDir, record } = this.#paths(uid);
    await rm(record, { force: true });
    await removeIfEmpty(podDir);
  }

  /**
   * UIDs of the pods that have a record, or an empty folder: an agent that was killed had not begun the record. Without those that are
   * known.
   */
  async podsOnDisk(isKnown: (uid: string) => boolean): Promise<readonly string[]> {
    const names = (await ifThere(readdir(this.#podsDir))) ?? [];
    const folders = names.filter((name) => !isLogFolder(name) && !isKnown(name));
    const recorded = await Promise.all(folders.map((uid) => this.#isRecorded(uid)));
    return folders.filter((_, index) => recorded[index]);
  }

  /** Makes the folder of the pod. One that was not there has no record: at a pod's start each system call costs time. */
  async #isNew(uid: string): Promise<boolean> {
    try {
      return await makeFolder(this.#paths(uid).podDir, PRIVATE_FOLDER_MODE);
    } catch {
      return false;
    }
  }

  async #isRecorded(uid: string): Promise<boolean> {
    try {
      const { podDir, record } = this.#paths(uid);
      const files = await readdir(podDir);
      return files.length === 0 || files.includes(basename(record));
    } catch {
      return false;
    }
  }

  /** Undefined also if the record is not readable, as after a loss of power. */
  async #read(uid: string): Promise<string | undefined> {
    try {
      const options = { bytesMax: RECORD_BYTES_MAX, followsLinks: false };
      const { content } = await readForeignFile(this.#paths(uid).record, options);
      const atMs = unixMs(content.toString().trim());
      return Number.isNaN(atMs) ? undefined : rfc3339(atMs);
    } catch {
      return undefined;
    }
  }

  async #save(uid: string, startTime: string): Promise<boolean> {
    try {
      await this.#write(this.#paths(uid), startTime);
      this.#warned = false;
      return true;
    } catch (error) {
      this.#warn(error);
      return false;
    }
  }

  /** Not by way of a draft: a record that the death of the machine has cut off cannot be read, and counts as none. */
  async #write({ podDir, record }: RecordPaths, startTime: string): Promise<void> {
    const write = () => writeRecord(record, `${startTime}\n`);
    try {
      await write().catch(async (error: unknown) => {
        if (errnoCode(error) !== 'ENOENT') throw error;
        await makeFolder(podDir, PRIVATE_FOLDER_MODE);
        await write();
      });
    } catch (error) {
      await rm(record, { force: true }).catch(() => undefined);
      await removeIfEmpty(podDir);
      throw error;
    }
  }

  /** Throws for a UID that cannot be the name of a folder. */
  #paths(uid: string): RecordPaths {
    const { podDir, startTimeFile: record } = podPaths(this.#podsDir, uid);
    return { podDir, record };
  }

  /** Warns once for all pods: a disk that refuses one record refuses all of them. */
  #warn(error: unknown): void {
    if (this.#warned) return;
    this.#warned = true;
    const message = `Cannot record when pods started, their deadlines begin anew with the next agent: ${errorMessage(error)}`;
    this.#context.logger.warn({}, message);
  }
}

/** `NAMESPACE_NAME_UID`: the embedded runtime has the folders of logs beside those of pods. */
function isLogFolder(name: string): boolean {
  return name.includes('_');
}

async function writeRecord(record: string, text: string): Promise<void> {
  const flags = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK;
  const file = await open(record, flags, PRIVATE_FILE_MODE);
  try {
    await file.writeFile(text);
  } finally {
    await file.close();
  }
}

interface RecordPaths {
  readonly podDir: string;
  readonly record: string;
}

/** Other files in the folder stay, and the folder with them. */
async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => undefined);
}
