import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  freeRange,
  recordedRange,
  userNamespace,
  userNamespaceRecord,
} from '../../policies/security/id-mappings.ts';
import type { UserNamespace } from '../../types/cri.ts';
import { errorMessage, StateletError } from '../../types/errors.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { errnoCode, ifThere } from '../../system/system-errors.ts';
import { podPaths } from '../volumes/pod-paths.ts';

const FILE = 'userns';
const FILE_MODE = 0o600;
/** An entry among the folders of pods may be something else, such as a file. */
const NOTHING_THERE = ['ENOENT', 'ENOTDIR'];

/**
 * The ids of the node that each pod with its own user namespace has. They are recorded in the pod's folder, so that no other pod
 * gets them after a restart of the agent.
 */
export class UserNamespaces {
  readonly #podsDir: string;
  /** First ids by the UID of the pod. */
  readonly #ranges = new Map<string, number>();
  #loading: Promise<void> | undefined;

  constructor(rootDir: string) {
    this.#podsDir = join(rootDir, 'pods');
  }

  /** The pod's ids, the same until the pod is released. The pod's folder must exist. */
  async ensure(uid: string): Promise<UserNamespace> {
    await (this.#loading ??= this.#load());
    const known = this.#ranges.get(uid);
    if (known !== undefined) return userNamespace(known);
    const hostId = freeRange(uid, new Set(this.#ranges.values()));
    this.#ranges.set(uid, hostId);
    try {
      await this.#record(uid, hostId);
    } catch (error) {
      this.#ranges.delete(uid);
      throw error;
    }
    return userNamespace(hostId);
  }

  /** Frees the pod's ids. Nothing of the pod may run any more. An unknown UID is no error. */
  async release(uid: string): Promise<void> {
    await rm(this.#fileOf(uid), { force: true });
    this.#ranges.delete(uid);
  }

  #fileOf(uid: string): string {
    return join(podPaths(this.#podsDir, uid).podDir, FILE);
  }

  async #record(uid: string, hostId: number): Promise<void> {
    await replaceFile(this.#fileOf(uid), userNamespaceRecord(hostId), { mode: FILE_MODE, flush: true });
  }

  /** Reads which ranges former agents have given to pods. Rejects where a record cannot be read: no range may be given twice. */
  async #load(): Promise<void> {
    try {
      for (const uid of (await ifThere(readdir(this.#podsDir))) ?? []) await this.#loadPod(uid);
    } catch (error) {
      this.#loading = undefined;
      throw error;
    }
  }

  async #loadPod(uid: string): Promise<void> {
    const file = this.#fileOf(uid);
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if (NOTHING_THERE.includes(errnoCode(error) ?? '')) return undefined;
      throw error;
    });
    if (text === undefined) return;
    try {
      this.#ranges.set(uid, recordedRange(text));
    } catch (error) {
      const mend = 'end the pod and remove the file';
      throw new StateletError('DataLoss', `${file} ${errorMessage(error)}; ${mend}`, { cause: error });
    }
  }
}
