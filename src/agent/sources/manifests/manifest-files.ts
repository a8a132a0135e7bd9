/** Reads a file or a folder of manifests; files that have not changed since the last reading are not read again. */
import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { NotPlainError, readForeignFile } from '../../../system/files/foreign-file.ts';
import type { PatientCalls } from '../../../system/files/patient-calls.ts';
import { isAbsence } from '../../../system/system-errors.ts';
import { errorMessage, StateletError } from '../../../types/errors.ts';
import type { ManifestOrigin, ManifestProblem, ManifestSource, SourceProblem } from '../source.ts';
import { contentToKeep, type LastGoodManifests } from './last-good-manifests.ts';
import { MANIFEST_BYTES_MAX } from './manifest-limits.ts';
import type { ManifestPods } from '../pod-of-manifest.ts';
import { readManifestPods } from './manifest-pods.ts';

/** Pods and objects are those of the last good version, if this one is broken. */
interface ManifestFile extends ManifestPods {
  /** Of the content that was read last; undefined when the file could not be read. */
  readonly digest?: string;
  /** Unix milliseconds; 0 when the content was not read. */
  readonly writtenAt: number;
  /** Of the file that was read; undefined where the next reading has to read it again. */
  readonly version?: string | undefined;
}

const NOTHING: ManifestFile = { pods: [], objects: [], problems: [], isBroken: false, writtenAt: 0 };

export interface ReadingOptions {
  readonly source: ManifestSource;
  readonly nodeName: string;
  /** The last good versions that an earlier agent has kept. */
  readonly lastGood?: LastGoodManifests;
  /** Aborts the reading of large manifests. */
  readonly signal?: AbortSignal;
  /** Unix milliseconds. */
  readonly now?: () => number;
  readonly readContent?: (file: string) => Promise<Buffer>;
  /** For every call of the file system: one path that hangs must not keep the others from being read. */
  readonly calls: PatientCalls;
}

export interface Reading {
  /** False until the path could be read for the first time, or was found not to exist. Until then its pods and objects are those that an earlier agent kept. */
  readonly seen: boolean;
  /** By path, sorted. */
  readonly files: ReadonlyMap<string, ManifestFile>;
  /** Problems of the path itself. */
  readonly problems: readonly SourceProblem[];
  /** The latest write to a file whose content has changed, Unix milliseconds: the write may not be complete. */
  readonly newestChangeAt: number;
}

export const NOTHING_READ: Reading = { seen: false, files: new Map(), problems: [], newestChangeAt: 0 };

/**
 * A path that does not exist has no pods. When the path cannot be read, the pods of the last reading stay. Rejects only when
 * the signal aborts.
 */
export async function readManifests(
  path: string,
  before: Reading,
  options: ReadingOptions,
): Promise<Reading> {
  try {
    const files = new Map<string, ManifestFile>();
    for (const file of await options.calls.call(path, () => manifestPaths(path))) {
      const manifest = await readManifestFile(file, before.files.get(file), options);
      if (manifest) files.set(file, await withLastGood(file, manifest, before, options));
    }
    const changed = [...files].filter(([file, { digest }]) => digest !== before.files.get(file)?.digest);
    const newestChangeAt = Math.max(0, ...changed.map(([, { writtenAt }]) => writtenAt));
    return { seen: before.seen || !isUnknown(files.get(path)), files, problems: [], newestChangeAt };
  } catch (error) {
    options.signal?.throwIfAborted();
    const problem = (message: string): readonly SourceProblem[] => [
      { source: options.source, file: path, message, ...(hangs(error) && { blocks: true }) },
    ];
    if (isAbsence(error))
      return {
        seen: true,
        files: new Map(),
        newestChangeAt: 0,
        problems: problem('does not exist: it has no pods until it does'),
      };
    return {
      seen: before.seen,
      files: before.seen ? before.files : await allLastGood(path, options),
      newestChangeAt: 0,
      problems: problem(`cannot be read, its pods stay as they are: ${errorMessage(error)}`),
    };
  }
}

/** Those of its files. */
export function manifestProblems({ files }: Reading, source: ManifestSource): readonly SourceProblem[] {
  return [...files].flatMap(([file, { problems }]) =>
    problems.map((problem) => ({ source, file, ...problem })),
  );
}

/** Whether the path is one manifest, and it is broken: its pods are not known. */
function isUnknown(single: ManifestFile | undefined): boolean {
  return single?.isBroken === true;
}

/** Names that begin with a dot are no manifests: drafts of editors, and the folders behind mounted ConfigMaps. */
async function manifestPaths(path: string): Promise<string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const names = (await readdir(path)).filter((name) => !name.startsWith('.'));
  return names.sort().map((name) => join(path, name));
}

/** Undefined for a folder, and for a file that was removed after the folder was listed. */
async function readManifestFile(
  file: string,
  before: ManifestFile | undefined,
  options: ReadingOptions,
): Promise<ManifestFile | undefined> {
  const { calls, now = Date.now, readContent = readManifestContent } = options;
  try {
    const statAt = now();
    const stats = await calls.call(file, () => stat(file, { bigint: true }));
    if (stats.isDirectory()) return undefined;
    if (!stats.isFile()) throw notAFile();
    if (stats.size > MANIFEST_BYTES_MAX) throw tooLarge();
    const version = fileVersion(stats, statAt);
    if (before && isReadAlready(file, version, before, options)) return before;
    const read = await parsed(await calls.call(file, () => readContent(file)), file, before, options);
    return { ...read, writtenAt: Number(stats.mtimeMs), version };
  } catch (error) {
    options.signal?.throwIfAborted();
    if (!isAbsence(error)) return { ...broken(unread(error)), ...lastGoodOf(before) };
    return (await isLink(file)) ? broken({ message: 'is a link to nothing' }) : undefined;
  }
}

function broken(problem: ManifestProblem): ManifestFile {
  return { ...NOTHING, problems: [problem], isBroken: true };
}

function lastGoodOf(before: ManifestFile | undefined): Pick<ManifestFile, 'pods' | 'objects'> {
  return { pods: before?.pods ?? [], objects: before?.objects ?? [] };
}

function unread(error: unknown): ManifestProblem {
  const isOfContent = error instanceof UnreadManifestError;
  const blocks = isOfContent ? error.blocks : hangs(error);
  const message = isOfContent ? error.message : `cannot be read: ${errorMessage(error)}`;
  return { message, ...(blocks && { blocks }) };
}

/** Whether a file system does not answer. */
export const hangs = (error: unknown): boolean =>
  error instanceof StateletError && error.kind === 'DeadlineExceeded';

/** A manifest whose last good version could not be written is read again, so that the write is tried again. */
function isReadAlready(
  file: string,
  version: string | undefined,
  before: ManifestFile,
  { lastGood }: ReadingOptions,
): boolean {
  if (version === undefined || version !== before.version) return false;
  return !lastGood || before.isBroken || lastGood.has(file, before.digest);
}

async function isLink(file: string): Promise<boolean> {
  try {
    return (await lstat(file)).isSymbolicLink();
  } catch {
    return false;
  }
}

async function parsed(
  content: Buffer,
  file: string,
  before: ManifestFile | undefined,
  { source, nodeName, lastGood, signal }: ReadingOptions,
): Promise<Omit<ManifestFile, 'writtenAt' | 'version'>> {
  const digest = createHash('sha1').update(content).digest('hex');
  const isKnown = digest === before?.digest;
  const manifest = isKnown
    ? before
    : await readManifestPods(content, originOf(file, source, nodeName), signal);
  if (manifest.isBroken) return { ...manifest, ...lastGoodOf(before), digest };
  lastGood?.keep(file, contentToKeep(content, manifest), digest);
  return { ...manifest, digest };
}

function originOf(file: string, source: ManifestSource, nodeName: string): ManifestOrigin {
  return { source, location: file, nodeName };
}

/** A manifest that is broken when the agent starts has the pods of its last good version. */
async function withLastGood(
  file: string,
  manifest: ManifestFile,
  before: Reading,
  options: ReadingOptions,
): Promise<ManifestFile> {
  if (before.seen || !manifest.isBroken || manifest.pods.length + manifest.objects.length > 0)
    return manifest;
  const lastGood = await lastGoodManifest(file, options);
  if (!lastGood) return manifest;
  return {
    ...manifest,
    ...lastGood,
    problems: [...manifest.problems, { message: 'its last good version is used' }],
  };
}

async function allLastGood(
  path: string,
  options: ReadingOptions,
): Promise<ReadonlyMap<string, ManifestFile>> {
  const locations = (await options.lastGood?.locations()) ?? [];
  const files = new Map<string, ManifestFile>();
  for (const file of locations.filter((location) => location === path || dirname(location) === path))
    files.set(file, { ...NOTHING, ...(await lastGoodManifest(file, options)) });
  return files;
}

/** Undefined where there is none. */
async function lastGoodManifest(
  file: string,
  { source, lastGood, nodeName, signal }: ReadingOptions,
): Promise<Pick<ManifestFile, 'pods' | 'objects'> | undefined> {
  const content = await lastGood?.read(file);
  if (!content) return undefined;
  const { pods, objects } = await readManifestPods(content, originOf(file, source, nodeName), signal);
  return pods.length + objects.length > 0 ? { pods, objects } : undefined;
}

/**
 * Two writes within one tick of the file system's clock leave the same times. The tick is some milliseconds on most file
 * systems and 2 s on FAT; the clock of a network file system may be a little slow.
 */
const SETTLED_AFTER_MS = 5_000n;

/**
 * A text that differs between all versions of the file, and from all versions of a file that replaces it. Undefined when the
 * last change is so close to `statAt` (Unix milliseconds), or so far in the future, that a later change might not show.
 */
export function fileVersion(stats: BigIntStats, statAt: number): string | undefined {
  const { dev, ino, size, mtimeNs, ctimeNs, mtimeMs, ctimeMs } = stats;
  const changedAt = mtimeMs > ctimeMs ? mtimeMs : ctimeMs;
  if (BigInt(Math.floor(statAt)) - changedAt < SETTLED_AFTER_MS) return undefined;
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

/** Why the content is not read, as the end of a sentence about the file. */
class UnreadManifestError extends Error {
  /** Whether a reader would wait at it. */
  readonly blocks: boolean;

  constructor(message: string, { blocks }: { readonly blocks: boolean }) {
    super(message);
    this.blocks = blocks;
  }
}

const notAFile = () => new UnreadManifestError('is neither a file nor a folder', { blocks: true });

const tooLarge = () => new UnreadManifestError('is larger than 10 MiB', { blocks: false });

/**
 * Whatever stands at the path can neither block the reader nor be without end. Links are followed, as in a mounted ConfigMap. Throws an
 * UnreadManifestError, or the system's error.
 */
export async function readManifestContent(path: string): Promise<Buffer> {
  try {
    return (await readForeignFile(path, { bytesMax: MANIFEST_BYTES_MAX })).content;
  } catch (error) {
    if (!(error instanceof StateletError)) throw error;
    throw new UnreadManifestError(error.message, { blocks: error instanceof NotPlainError });
  }
}
