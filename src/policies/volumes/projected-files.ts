/** The files that the agent writes into a volume. */
import { StateletError } from '../../types/errors.ts';

export interface VolumeFile {
  /** Relative to the volume. */
  readonly path: string;
  readonly content: string | Uint8Array;
  readonly mode: number;
  /** The user that the file is given to. Default: the agent's. */
  readonly owner?: number;
}

const PATH_MAX_LENGTH = 4096;
const NAME_MAX_LENGTH = 255;

/**
 * The files by their paths; of two files with one path the later one counts. Throws a StateletError of kind InvalidArgument
 * for a path that leads out of the volume, or into the agent's own files there (`..data`).
 */
export function volumePayload(files: readonly VolumeFile[]): ReadonlyMap<string, VolumeFile> {
  const payload = new Map<string, VolumeFile>();
  for (const file of files) {
    const problem = pathProblem(file.path);
    if (problem !== undefined) {
      throw new StateletError('InvalidArgument', `path ${JSON.stringify(file.path)} ${problem}`);
    }
    const path = namesOf(file.path).join('/');
    payload.set(path, { ...file, path });
  }
  return payload;
}

/** What is wrong with the path of a file, as the end of a sentence about it; undefined if it is valid. */
export function pathProblem(path: string): string | undefined {
  const names = namesOf(path);
  if (names.length === 0) return 'must not be empty';
  if (path.startsWith('/')) return 'must be relative';
  if (path.includes('\0')) return 'must not have a NUL character';
  if (names.includes('..')) return "must not have '..'";
  if (names[0]?.startsWith('..')) return "must not start with '..'";
  if (path.length > PATH_MAX_LENGTH) return `must not be longer than ${PATH_MAX_LENGTH} characters`;
  if (names.some((name) => name.length > NAME_MAX_LENGTH))
    return `must have no name longer than ${NAME_MAX_LENGTH} characters`;
  return undefined;
}

/** The names in a path, without empty ones and `.`. */
export function namesOf(path: string): readonly string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

/** The names of the files and folders in the volume's root. */
export function topLevelNames(payload: ReadonlyMap<string, VolumeFile>): ReadonlySet<string> {
  return new Set(Array.from(payload.keys(), (path) => path.split('/')[0] ?? ''));
}
