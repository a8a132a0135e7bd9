/** The files that the agent writes into a volume. */
import { StateletError } from '../../../types/errors.ts';

export interface VolumeFile {
  /** Relative to the volume. */
  readonly path: string;
  readonly content: string | Uint8Array;
  readonly mode: number;
  /** The user that the file is given to. Default: the agent's. */
  readonly owner?: number;
}

const PATH_MAX_BYTES = 4096;
const NAME_MAX_BYTES = 255;

/**
 * The files by their paths; of two files with one path the later one counts. Throws a StateletError of kind InvalidArgument, with the
 * kubelet's message, for a path that leads out of the volume, or into the agent's own files there (`..data`).
 */
export function volumePayload(files: readonly VolumeFile[]): ReadonlyMap<string, VolumeFile> {
  const payload = new Map<string, VolumeFile>();
  for (const file of files) {
    const problem = invalidPath(file.path);
    if (problem !== undefined) throw new StateletError('InvalidArgument', problem);
    const path = namesOf(file.path).join('/');
    payload.set(path, { ...file, path });
  }
  return payload;
}

/** What is wrong with the path of a file, as the end of a sentence about it; undefined if it is valid. */
export function pathProblem(path: string): string | undefined {
  return (kubeletsProblem(path) ?? unwritableProblem(path))?.text;
}

/** The kubelet's message about a path that it refuses before it writes any file. */
export function payloadPathProblem(path: string): string | undefined {
  const problem = kubeletsProblem(path);
  return problem && messageOf(problem, path);
}

function invalidPath(path: string): string | undefined {
  const problem = kubeletsProblem(path) ?? unwritableProblem(path);
  return problem && messageOf(problem, path);
}

interface PathProblem {
  readonly text: string;
  /** The message leaves the path out, as the kubelet does where the path is too long. */
  readonly isLong?: boolean;
}

function messageOf({ text, isLong = false }: PathProblem, path: string): string {
  if (isLong) return `invalid path: ${text}`;
  return `invalid path: ${text}: ${path === '' ? '""' : path}`;
}

function kubeletsProblem(path: string): PathProblem | undefined {
  const names = path.split('/');
  if (path === '') return { text: 'must not be empty' };
  if (path.startsWith('/')) return { text: 'must be relative path' };
  if (isLonger(path, PATH_MAX_BYTES)) return tooLong('', PATH_MAX_BYTES);
  const wrong = names.find((name) => name === '..' || isLonger(name, NAME_MAX_BYTES));
  if (wrong === '..') return { text: "must not contain '..'" };
  if (wrong !== undefined) return tooLong('filenames ', NAME_MAX_BYTES);
  return names[0]?.startsWith('..') ? { text: "must not start with '..'" } : undefined;
}

function tooLong(what: string, bytesMax: number): PathProblem {
  return { text: `${what}must be less than or equal to ${bytesMax} characters`, isLong: true };
}

/** Where the kubelet fails as it writes, or overwrites its own files. */
function unwritableProblem(path: string): PathProblem | undefined {
  const [first] = namesOf(path);
  if (first === undefined) return { text: 'must name a file below the volume' };
  if (path.includes('\0')) return { text: 'must not have a NUL character', isLong: true };
  return first.startsWith('..') ? { text: "must not start with '..'" } : undefined;
}

const ENCODER = new TextEncoder();

/** Whether the text has more bytes. One unit of a string has three at most, so that short texts need not be encoded. */
function isLonger(text: string, bytesMax: number): boolean {
  return text.length * 3 > bytesMax && ENCODER.encode(text).length > bytesMax;
}

/** The shortest path of the same meaning, as Go's `filepath.Clean` has it. */
export function cleanPath(path: string): string {
  const names: string[] = [];
  for (const name of namesOf(path)) {
    const isInside = names.length > 0 && names.at(-1) !== '..';
    if (name === '..' && isInside) names.pop();
    else if (name !== '..' || !path.startsWith('/')) names.push(name);
  }
  const root = path.startsWith('/') ? '/' : '';
  return `${root}${names.join('/')}` || '.';
}

/** The names in a path, without empty ones and `.`. */
export function namesOf(path: string): readonly string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

export function topLevelNames(payload: ReadonlyMap<string, VolumeFile>): ReadonlySet<string> {
  return new Set(Array.from(payload.keys(), (path) => path.split('/')[0] ?? ''));
}

/** More than the objects of an ordinary volume have, and as much as can be compared and written without blocking the agent for long. */
const FILES_BYTES_MAX = 32 * 1024 * 1024;

/** Counts the files of a volume, of which many may come from one large object. */
export class FilesSize {
  readonly #volume: string;
  #bytes = 0;

  constructor({ name }: { readonly name: string }) {
    this.#volume = name;
  }

  get isExceeded(): boolean {
    return this.#bytes > FILES_BYTES_MAX;
  }

  /** Returns the files. Throws a StateletError of kind InvalidArgument where the volume has too much with them. */
  withinLimit(files: readonly VolumeFile[]): readonly VolumeFile[] {
    for (const { content } of files) this.#bytes += content.length;
    if (!this.isExceeded) return files;
    throw new StateletError(
      'InvalidArgument',
      `volume "${this.#volume}" has more than 32 MiB of files from ConfigMaps, Secrets and the pod; leave some of its sources or items out`,
    );
  }
}
