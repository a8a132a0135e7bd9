/** The files that the agent gives every container: `/etc/hosts` and the file for its termination message. */
import { constants } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '../../system/make-folder.ts';
import { ifThere } from '../../system/system-errors.ts';
import { PRIVATE_FOLDER_MODE } from './pod-paths.ts';

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR, O_TRUNC, O_WRONLY } = constants;
const HOSTS_MODE = 0o644;
const TERMINATION_MODE = 0o666;
/** The running instance, the dead instance in the status, and an instance that is about to be pruned. */
const INSTANCES_KEPT = 3;

/**
 * Writes the file in place, not by renaming: running containers have mounted this very file. They may have written any amount into it,
 * and no more of it is read than would be right.
 */
export async function writeHostsFile(file: string, content: string): Promise<void> {
  const handle = await open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, HOSTS_MODE);
  try {
    const wanted = Buffer.from(content);
    const { size } = await handle.stat();
    if (size === wanted.length && (await holds(handle, wanted))) return;
    if (size > 0) await handle.truncate();
    await handle.write(wanted, 0, wanted.length, 0);
  } finally {
    await handle.close();
  }
}

async function holds(file: FileHandle, wanted: Buffer): Promise<boolean> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(wanted.length), 0, wanted.length, 0);
  return buffer.subarray(0, bytesRead).equals(wanted);
}

/**
 * Makes an empty file that every user may write, and returns its path. The name contains the attempt: a second try takes the same
 * file, and files of old instances are removed by their names.
 */
export async function makeTerminationFile(folder: string, attempt: number): Promise<string> {
  const file = join(folder, fileName(attempt));
  // The first instance makes the folder, and nearly always it is there for the others.
  const found = attempt === 0 ? undefined : await ifThere(openEmpty(file));
  const handle = found ?? (await openEmptyIn(folder, file));
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
  return open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK, TERMINATION_MODE);
}

async function openEmptyIn(folder: string, file: string): Promise<FileHandle> {
  await makeFolder(folder, PRIVATE_FOLDER_MODE);
  return openEmpty(file);
}

function fileName(attempt: number): string {
  return attempt.toString(16).padStart(8, '0');
}
