/** The files that the agent gives every container: `/etc/hosts` and the file for its termination message. */
import { mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere } from '../../system/system-errors.ts';
import { PRIVATE_FOLDER_MODE } from './pod-paths.ts';

const HOSTS_MODE = 0o644;
const TERMINATION_MODE = 0o666;
/** The running instance, the dead one that the status tells of, and one that is about to be pruned. */
const INSTANCES_KEPT = 3;

/** Written in place: containers that run have mounted this very file. */
export async function writeHostsFile(file: string, content: string): Promise<void> {
  const found = await ifThere(readFile(file, 'utf8'));
  if (found !== content) await writeFile(file, content, { mode: HOSTS_MODE });
}

export async function makeTerminationFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: PRIVATE_FOLDER_MODE });
}

/**
 * An empty file that everybody may write, and its path. The name tells the attempt, so that one that is tried again takes
 * the same file, and files of instances long gone are found without looking for them.
 */
export async function makeTerminationFile(folder: string, attempt: number): Promise<string> {
  const file = join(folder, fileName(attempt));
  await makeTerminationFolder(folder);
  const handle = await open(file, 'w', TERMINATION_MODE);
  try {
    // The process' umask has had its say in the mode.
    await handle.chmod(TERMINATION_MODE);
  } finally {
    await handle.close();
  }
  if (attempt >= INSTANCES_KEPT) await rm(join(folder, fileName(attempt - INSTANCES_KEPT)), { force: true });
  return file;
}

function fileName(attempt: number): string {
  return attempt.toString(16).padStart(8, '0');
}
