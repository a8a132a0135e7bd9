import { existsSync, readdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { podLogsFolder, podOfLogsFolder } from '../../policies/cri/cri-labels.ts';
import { instancesByLogs, isContainerLog } from '../../policies/garbage/log-rotation.ts';
import { openForeignFile } from '../../../system/files/foreign-file.ts';
import { removeTree } from '../../../system/files/remove-tree.ts';
import { makeFolder } from '../../../system/make-folder.ts';
import { ifThere } from '../../../system/system-errors.ts';
import type { PodReference } from '../../../types/event-recorder.ts';

/** The folders with the logs of pods. Other programs may have folders with similar names beside them: those stay. */
export class PodLogs {
  readonly #dir: string;

  constructor(podLogsDir: string) {
    this.#dir = podLogsDir;
  }

  /**
   * The pods that have logs, without those that are known. A folder counts where its UID is `recorded`, or where its content is that
   * of a pod's logs. Others are left out.
   */
  async pods(
    isKnown: (uid: string) => boolean,
    recorded: ReadonlySet<string>,
  ): Promise<readonly PodReference[]> {
    const entries = (await ifThere(readdir(this.#dir, { withFileTypes: true }))) ?? [];
    const folders = entries.filter((entry) => entry.isDirectory());
    const named = folders.map(({ name }) => podOfLogsFolder(name)).filter((pod) => pod !== undefined);
    const pods = named.filter(({ uid }) => !isKnown(uid));
    const isOurs = async (pod: PodReference) =>
      recorded.has(pod.uid) || (await holdsPodLogs(join(this.#dir, podLogsFolder(pod)), pod));
    const areOurs = await Promise.all(pods.map(isOurs));
    return pods.filter((_, index) => areOurs[index]);
  }

  /** The folder for the logs of a container's instances. */
  async makeFolder(pod: PodReference, containerName: string): Promise<void> {
    await makeFolder(join(this.#dir, podLogsFolder(pod), containerName), 0o755);
  }

  /** How many instances of the container there have been, by the logs that still exist. */
  pastInstances(pod: PodReference, containerName: string): number {
    const logs = join(this.#dir, podLogsFolder(pod), containerName);
    return existsSync(logs) ? instancesByLogs(readdirSync(logs)) : 0;
  }

  async remove(pod: PodReference): Promise<void> {
    await removeTree(join(this.#dir, podLogsFolder(pod)));
  }
}

/** UIDs of the API server and of agents. A manifest may have any other. */
const MADE_UID = /^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

const LOG_LINE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* (?:stdout|stderr) [FP]/;

const BEGINNING_BYTES = 64;

/**
 * False where the folder has any other file, or cannot be read: folders of pods are going to be removed. Where the UID could be any
 * word, one of the logs has to be in CRI's format.
 */
export async function holdsPodLogs(dir: string, { uid }: { readonly uid: string }): Promise<boolean> {
  try {
    const files = await logsBelow(dir);
    if (files === undefined) return false;
    if (MADE_UID.test(uid)) return true;
    for (const file of files) if (LOG_LINE.test(await beginningOf(file))) return true;
    return false;
  } catch {
    return false;
  }
}

/** undefined where a file is not a container's log. */
async function logsBelow(dir: string): Promise<readonly string[] | undefined> {
  const files: string[] = [];
  for (const container of await readdir(dir, { withFileTypes: true })) {
    if (!container.isDirectory()) return undefined;
    const folder = join(dir, container.name);
    for (const file of await readdir(folder, { withFileTypes: true })) {
      if (!file.isFile() || !isContainerLog(file.name)) return undefined;
      files.push(join(folder, file.name));
    }
  }
  return files;
}

async function beginningOf(path: string): Promise<string> {
  const file = await openForeignFile(path, { followsLinks: false });
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(BEGINNING_BYTES), 0, BEGINNING_BYTES, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await file.close();
  }
}
