/** The files that the agent gives every container: `/etc/hosts` and the file for its termination message. */
import { type FileHandle, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errnoCode, ifThere } from '../../system/system-errors.ts';
import { PRIVATE_FOLDER_MODE } from './pod-paths.ts';

const HOSTS_MODE = 0o644;
const TERMINATION_MODE = 0o666;
/** The running instance, the dead instance in the status, and an instance that is about to be pruned. */
const INSTANCES_KEPT = 3;

/** Writes the file in place, not by renaming: running containers have mounted this very file. */
export async function writeHostsFile(file: string, content: string): Promise<void> {
  try {
    await writeFile(file, content, { flag: 'wx', mode: HOSTS_MODE });
  } catch (error) {
    if (errnoCode(error) !== 'EEXIST') throw error;
    if ((await readFile(file, 'utf8')) !== content) await writeFile(file, content);
  }
}

export async function makeTerminationFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER_MODE });
}

/**
 * Makes an empty file that every user may write, and returns its path. The name contains the attempt: a second try takes the same
 * file, and files of old instances are removed by their names.
 */
export async function makeTerminationFile(folder: string, attempt: number): Promise<string> {
  const file = join(folder, fileName(attempt));
  // Nearly always the folder is there: `containerMounts` has made it.
  const handle = (await ifThere(openEmpty(file))) ?? (await openEmptyIn(folder, file));
  try {
    // `open` has applied the process' umask to the mode.
    await handle.chmod(TERMINATION_MODE);
  } finally {
    await handle.close();
  }
  if (attempt >= INSTANCES_KEPT) await rm(join(folder, fileName(attempt - INSTANCES_KEPT)), { force: true });
  return file;
}

function openEmpty(file: string): Promise<FileHandle> {
  return open(file, 'w', TERMINATION_MODE);
}

async function openEmptyIn(folder: string, file: string): Promise<FileHandle> {
  await makeTerminationFolder(folder);
  return openEmpty(file);
}

function fileName(attempt: number): string {
  return attempt.toString(16).padStart(8, '0');
}
