/** The pods of a manifest file or of a folder of manifests. The path is watched, and also read at intervals. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  concat,
  concatAll,
  concatMap,
  defer,
  distinctUntilChanged,
  finalize,
  from,
  ignoreElements,
  repeat,
  type Observable,
} from 'rxjs';
import { podFullName } from '../policies/pod/pod-kinds.ts';
import { patientCalls } from '../../system/files/patient-calls.ts';
import { ifThere } from '../../system/system-errors.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { firstCome, isTaken, nameIsTaken } from './first-come.ts';
import { keepingProblems, type LastGoodManifests } from './manifests/last-good-manifests.ts';
import {
  hangs,
  manifestProblems,
  NOTHING_READ,
  readManifests,
  type Reading,
  type ReadingOptions,
} from './manifests/manifest-files.ts';
import { AbsentFiles, noWatch, watchPath, type PathWatch } from './path-watch.ts';
import type { ManifestSource, ObjectsOfManifest, SourceProblem, SourceUpdate } from './source.ts';

export interface FileSourceOptions {
  /** A manifest or a folder of manifests. Need not exist. */
  readonly path: string;
  readonly nodeName: string;
  /** Default: `file`, that of static pods. */
  readonly source?: 'file' | 'local';
  /** How often to read when no change was seen: `fileCheckFrequency`. */
  readonly checkFrequencyMs: number;
  /** How long no change may have come before the path is read, so that no half-written file is read. */
  readonly quietMs?: number;
  /** Has pods for manifests that are broken when the agent starts. */
  readonly lastGood?: LastGoodManifests;
}

const QUIET_MS = 100;

/**
 * Emits the whole source after the first reading and after each change. A manifest that is broken or unreadable keeps the
 * pods of its last good version. A file that was removed and made again is gone in between, as with the kubelet. Of two pods with one full name the older one stays, or else the one whose file name sorts
 * first; the other is a problem. Never fails, never completes.
 */
export function fileSource(options: FileSourceOptions): Observable<SourceUpdate> {
  return defer(() => {
    const stop = new AbortController();
    const follower = new FolderFollower(options, stop.signal);
    const { quietMs = QUIET_MS, checkFrequencyMs } = options;
    const round = defer(() => follower.watch()).pipe(
      concatMap((watch) => {
        const change = watch.next(quietMs, checkFrequencyMs);
        const updates = from(follower.read(watch, quietMs)).pipe(concatAll());
        return concat(updates, change.pipe(ignoreElements()));
      }),
    );
    return round.pipe(
      repeat(),
      distinctUntilChanged<SourceUpdate>(isDeepStrictEqual),
      finalize(() => {
        stop.abort();
        follower.close();
      }),
    );
  });
}

class FolderFollower {
  readonly path: string;
  readonly #options: ReadingOptions;
  #reading = NOTHING_READ;
  /** The file whose pod holds a full name or a UID. */
  #holders: ReadonlyMap<string, string> = new Map();
  /** Those that were removed since the last reading that counted. */
  readonly #absent = new AbsentFiles();
  #watch: PathWatch | undefined;
  #wasUnstable = false;

  constructor(options: FileSourceOptions, signal: AbortSignal) {
    const { path, nodeName, source = 'file', lastGood } = options;
    this.path = resolve(path);
    this.#options = { source, nodeName, signal, calls: patientCalls, lastGood };
  }

  /** Takes the place of the last watch. */
  async watch(): Promise<PathWatch> {
    const watch = await this.#nextWatch();
    this.close();
    this.#watch = watch;
    return watch;
  }

  close(): void {
    this.#watch?.close();
  }

  /** The kernel would block the event loop at a path whose file system does not answer: it is not watched then. */
  async #nextWatch(): Promise<PathWatch> {
    try {
      await this.#options.calls.call(this.path, () => ifThere(stat(this.path)));
    } catch (error) {
      if (hangs(error)) return noWatch(errorMessage(error));
    }
    if (this.#options.signal?.aborted) return noWatch('the source has ended');
    return watchPath(this.path, this.#absent);
  }

  /**
   * Nothing when the folder changed while it was read, or when a file may not be complete. The next reading waits for
   * quiet, and its result counts in any case.
   */
  async read(watch: PathWatch, quietMs: number): Promise<readonly SourceUpdate[]> {
    const reading = await readManifests(this.path, this.#reading, this.#options);
    const isBeingWritten = Math.abs(Date.now() - reading.newestChangeAt) < quietMs;
    this.#wasUnstable = (watch.changed || isBeingWritten) && !this.#wasUnstable;
    if (this.#wasUnstable && isBeingWritten) watch.noteWriting();
    if (this.#wasUnstable) return [];
    const meanwhile = this.#meanwhile(reading);
    this.#reading = reading;
    const { source, lastGood } = this.#options;
    const { pods, holders, problems } = withoutConflicts(reading, this.#holders, source);
    this.#holders = holders;
    if (reading.seen) lastGood?.keepOnly(new Set(reading.files.keys()));
    const objects = objectsOf(reading);
    const update: SourceUpdate = {
      ...(objects.length > 0 && { objects }),
      ...((reading.seen || pods.length > 0) && { pods }),
      ...(!reading.seen && pods.length > 0 && { restored: true }),
      problems: [
        ...this.#pathProblems(reading, watch),
        ...manifestProblems(reading, source),
        ...problems,
        ...keepingProblems(source, lastGood),
      ],
    };
    return meanwhile ? [{ ...update, pods: meanwhile }, update] : [update];
  }

  /** The pods at the time when files were gone that have come back unchanged. */
  #meanwhile(reading: Reading): readonly Pod[] | undefined {
    const gone = new Set(this.#absent.gone);
    this.#absent.gone.clear();
    const isBack = ([file, { digest }]: FileEntry) =>
      gone.has(file) && digest !== undefined && this.#reading.files.get(file)?.digest === digest;
    if (![...reading.files].some(isBack)) return undefined;
    const files = new Map([...this.#reading.files].filter(([file]) => !gone.has(file)));
    return withoutConflicts({ ...this.#reading, files }, this.#holders, this.#options.source).pods;
  }

  #pathProblems({ problems }: Reading, { failure }: PathWatch): readonly SourceProblem[] {
    if (failure === undefined || problems.length > 0) return problems;
    const message = `cannot be watched, changes will be seen at intervals only: ${failure}`;
    return [{ source: this.#options.source, file: this.path, message }];
  }
}

type FileEntry = readonly [file: string, manifest: { readonly digest?: string }];

/** Leaves out pods whose full name or UID another pod has. */
function withoutConflicts({ files }: Reading, before: ReadonlyMap<string, string>, source: ManifestSource) {
  const claims = [...files].flatMap(([holder, { pods }]) => pods.map((value) => ({ holder, value })));
  const keysOf = (pod: Pod) => [podFullName(pod), pod.metadata.uid] as const;
  const { kept, refused, holders } = firstCome(claims, keysOf, before);
  const problems = refused.map(({ holder: file, value, key, of }): SourceProblem => {
    const { name, namespace, uid } = value.metadata;
    if (key === podFullName(value))
      return { source, ...nameIsTaken({ kind: 'pod', namespace, name, file }, of) };
    const message = isTaken(`"${uid}"`, 'pod', { file, of });
    return { source, file, field: 'metadata.uid', message, leavesOut: true };
  });
  return { pods: kept, holders, problems };
}

function objectsOf({ files }: Reading): readonly ObjectsOfManifest[] {
  return [...files].flatMap(([file, { objects }]) => (objects.length === 0 ? [] : [{ file, objects }]));
}
