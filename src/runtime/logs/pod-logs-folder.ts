/** Whether a folder is what agents and runtimes make for the logs of a pod: `<container>/<attempt>.log`, and rotated ones. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openForeignFile } from '../../system/files/foreign-file.ts';
import { isContainerLog } from '../../policies/garbage/log-rotation.ts';

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
