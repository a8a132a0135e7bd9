/** Entries of a record, with errors that say what would be right. */
import type { RecordEntry } from '../../policies/record/record-reader.ts';
import type { RecordFiles } from '../../server/record/read-record.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { StateletError } from '../../types/errors.ts';

/** `path`: what `files` reads. */
export async function* recordedEntries(
  files: RecordFiles,
  path: string,
): AsyncGenerator<RecordEntry, undefined> {
  try {
    yield* files.read();
  } catch (error) {
    const code = errnoCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR')
      throw new StateletError(
        'NotFound',
        `nothing is recorded: there is no ${path}\ngive the --root-dir that the daemon was started with`,
      );
    if (code === 'EACCES') throw ofAnotherUser(path);
    throw error;
  }
}

export function ofAnotherUser(path: string): StateletError {
  return new StateletError(
    'PermissionDenied',
    `${path} belongs to another user: run this command as the user of the daemon`,
  );
}

/** `what`: `the node`, `a pod "web" in namespace default`. `since`: where only what is younger was wanted. */
export function nothingRecorded(path: string, what: string, since: number | undefined): StateletError {
  const when = since === undefined ? '' : ' of that time';
  return new StateletError('NotFound', `${path} has nothing${when} about ${what}`);
}
