/** Reads a file or a folder of manifests, given what the last reading found. */
import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorMessage } from '../types/errors.ts';
import type { Pod } from '../types/kubernetes.ts';
import { MANIFEST_BYTES_MAX, parseManifest } from './manifest.ts';
import { isAbsence } from './path-watch.ts';
import type { ManifestProblem, SourceProblem } from './source.ts';
import { staticPod } from './static-pod.ts';

interface ManifestFile {
  /** Of the content that `pods` or `problems` are about; undefined when it could not be read. */
  readonly digest?: string;
  /** Of the last good version. */
  readonly pods: readonly Pod[];
  readonly problems: readonly ManifestProblem[];
  /** Unix milliseconds; 0 where that does not matter. */
  readonly writtenAt: number;
}

export interface Reading {
  /** False until it has been found out for the first time what is there, or that nothing is. */
  readonly seen: boolean;
  /** By path, sorted. */
  readonly files: ReadonlyMap<string, ManifestFile>;
  /** Those of the path itself. */
  readonly problems: readonly SourceProblem[];
  /** When a file whose content is news was last written to, Unix milliseconds: it may not be complete. */
  readonly newestNewsAt: number;
}

export const NOTHING_READ: Reading = { seen: false, files: new Map(), problems: [], newestNewsAt: 0 };

/**
 * A path that is not there has no pods; of one that cannot be read nothing is known, and what was read before stands.
 * Never rejects.
 */
export async function readManifests(path: string, nodeName: string, before: Reading): Promise<Reading> {
  try {
    const files = new Map<string, ManifestFile>();
    for (const file of await manifestPaths(path)) {
      const manifest = await readManifestFile(file, nodeName, before.files.get(file));
      if (manifest) files.set(file, manifest);
    }
    const news = [...files].filter(([file, { digest }]) => digest !== before.files.get(file)?.digest);
    const newestNewsAt = Math.max(0, ...news.map(([, { writtenAt }]) => writtenAt));
    return { seen: before.seen || !isUnknown(files.get(path)), files, problems: [], newestNewsAt };
  } catch (error) {
    const problem = (message: string): readonly SourceProblem[] => [{ source: 'file', file: path, message }];
    if (isAbsence(error))
      return {
        seen: true,
        files: new Map(),
        newestNewsAt: 0,
        problems: problem('does not exist: it has no pods until it does'),
      };
    return {
      ...before,
      newestNewsAt: 0,
      problems: problem(`cannot be read, its pods stay as they are: ${errorMessage(error)}`),
    };
  }
}

/** Whether the path is a single manifest of which no good version is known: then nothing can be said of its pods. */
function isUnknown(single: ManifestFile | undefined): boolean {
  return single?.pods.length === 0 && single.problems.length > 0;
}

/** Names that begin with a dot are not for us: editors, and the folders behind mounted ConfigMaps. */
async function manifestPaths(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => !name.startsWith('.'));
  return names.sort().map((name) => join(path, name));
}

/** Undefined for what is no manifest (a folder), or has gone since the folder was listed. */
async function readManifestFile(
  file: string,
  nodeName: string,
  before: ManifestFile | undefined,
): Promise<ManifestFile | undefined> {
  const failed = (message: string, pods = before?.pods ?? []): ManifestFile => ({
    ...{ pods, problems: [{ message }], writtenAt: 0 },
  });
  try {
    const stats = await stat(file);
    if (stats.isDirectory()) return undefined;
    if (!stats.isFile()) return failed('is neither a file nor a folder', []);
    if (stats.size > MANIFEST_BYTES_MAX) return failed('is larger than 10 MiB');
    const read = parsed(await readFile(file), file, nodeName, before);
    return { ...read, writtenAt: stats.mtimeMs };
  } catch (error) {
    if (!isAbsence(error)) return failed(`cannot be read: ${errorMessage(error)}`);
    return (await isLink(file)) ? failed('is a link to nothing', []) : undefined;
  }
}

async function isLink(file: string): Promise<boolean> {
  try {
    return (await lstat(file)).isSymbolicLink();
  } catch {
    return false;
  }
}

function parsed(
  content: Buffer,
  file: string,
  nodeName: string,
  before: ManifestFile | undefined,
): Omit<ManifestFile, 'writtenAt'> {
  const digest = createHash('sha1').update(content).digest('hex');
  if (digest === before?.digest) return before;
  const { pods, problems } = parseManifest(content);
  if (problems.length > 0) return { digest, pods: before?.pods ?? [], problems };
  const origin = { source: 'file', location: file, nodeName } as const;
  return { digest, pods: pods.map((pod) => staticPod(pod, origin)), problems };
}
