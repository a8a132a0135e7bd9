import { execFile } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  freeRange,
  type IdRange,
  type IdSpace,
  recordedRange,
  subordinateIds,
  userNamespace,
  userNamespaceRecord,
} from '../../policies/security/id-mappings.ts';
import type { UserNamespace } from '../../../types/cri.ts';
import { readProvidedFile } from '../../../system/files/foreign-file.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import { replaceFile } from '../../../system/replace-file.ts';
import { errnoCode, ifThere } from '../../../system/system-errors.ts';
import { podPaths } from '../volumes/pod-paths.ts';

const run = promisify(execFile);
const USER = 'kubelet';
const TIMEOUT_MS = 10_000;
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
  readonly #space: IdSpace;
  /** By the UID of the pod. */
  readonly #ranges = new Map<string, IdRange>();
  #loading: Promise<void> | undefined;

  constructor(rootDir: string, space: IdSpace) {
    this.#space = space;
    this.#podsDir = join(rootDir, 'pods');
  }

  /** The pod's ids, the same until the pod is released. The pod's folder must exist. */
  async ensure(uid: string): Promise<UserNamespace> {
    await (this.#loading ??= this.#load());
    const known = this.#ranges.get(uid);
    if (known !== undefined) return userNamespace(known);
    const range = freeRange(uid, this.#space, this.#ranges.values());
    this.#ranges.set(uid, range);
    try {
      await this.#record(uid, range);
    } catch (error) {
      this.#ranges.delete(uid);
      throw error;
    }
    return userNamespace(range);
  }

  /** Frees the pod's ids. Nothing of the pod may run any more. An unknown UID is no error. */
  async release(uid: string): Promise<void> {
    await rm(this.#fileOf(uid), { force: true });
    this.#ranges.delete(uid);
  }

  #fileOf(uid: string): string {
    return join(podPaths(this.#podsDir, uid).podDir, FILE);
  }

  async #record(uid: string, range: IdRange): Promise<void> {
    await replaceFile(this.#fileOf(uid), userNamespaceRecord(range), { mode: FILE_MODE, flush: true });
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

const PASSWD_BYTES_MAX = 16 * 1024 * 1024;

interface SubordinateIdsOptions {
  readonly passwd?: string;
  readonly command?: string;
}

/**
 * The ids that this machine has reserved for the user `kubelet` in /etc/subuid and /etc/subgid. Undefined without that user or without
 * the command `getsubids`. Rejects, as the kubelet ends, where users and groups have not one and the same range.
 */
export async function readSubordinateIds({
  passwd = '/etc/passwd',
  command = 'getsubids',
}: SubordinateIdsOptions = {}): Promise<IdRange | undefined> {
  const users = (await ifThere(textOf(passwd))) ?? '';
  if (!users.split('\n').some((line) => line.startsWith(`${USER}:`))) return undefined;
  const ids = await outputOf(command, [USER], 'ids');
  const gids = ids === undefined ? undefined : await outputOf(command, ['-g', USER], 'gids');
  if (ids === undefined || gids === undefined) return undefined;
  if (ids === gids) return subordinateIds(ids);
  throw new StateletError('InvalidArgument', `mismatched subuids and subgids for user "${USER}"`);
}

async function textOf(passwd: string): Promise<string> {
  try {
    return await readProvidedFile(passwd, { bytesMax: PASSWD_BYTES_MAX });
  } catch (error) {
    if (!(error instanceof StateletError)) throw error;
    throw new StateletError(error.kind, `${passwd} ${error.message}`, { cause: error });
  }
}

/** Undefined where there is no such command. */
async function outputOf(command: string, args: readonly string[], what: string): Promise<string | undefined> {
  try {
    const { stdout } = await run(command, args, { timeout: TIMEOUT_MS, encoding: 'utf8' });
    return stdout;
  } catch (error) {
    if (errnoCode(error) === 'ENOENT') return undefined;
    const message = `error retrieving additional ${what} for user "${USER}": ${errorMessage(error)}`;
    throw new StateletError('FailedPrecondition', message, { cause: error });
  }
}
