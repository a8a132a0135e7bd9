/** Says that something may have changed at a path. Only reading it again shows what. */
import type { WatchEventType } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { debounce, map, merge, ReplaySubject, take, timer, type Observable } from 'rxjs';
import { kernelWatch } from '../../system/kernel-watch.ts';
import { isAbsence } from '../../system/system-errors.ts';

export interface PathWatch {
  /** Whether an event has come since the watch began. */
  readonly changed: boolean;
  /** Why the path cannot be watched. Undefined for a path that does not exist: its creation will be seen. */
  readonly failure: string | undefined;
  /**
   * Emits once: `quietMs` after the last write, at once after a file was created, moved or removed, and after `mostMs` in
   * any case.
   */
  next(quietMs: number, mostMs: number): Observable<void>;
  /** Counts as an event: the caller knows that a file is being written. */
  noteWriting(): void;
  close(): void;
}

/**
 * Watches the content of `path` if it is a folder, and the folder that `path` is in: there a replaced folder or a changed
 * symbolic link shows. Start a new watch for each reading, before the reading, and close the one before only then: in between, events
 * would be lost. `absent` gets the files that are gone.
 */
export function watchPath(path: string, absent: AbsentFiles): PathWatch {
  const events = new ReplaySubject<WatchEventType>(1);
  const name = basename(path);
  // The files of a mounted ConfigMap are links into `..data`, a link that is replaced when the ConfigMap changes.
  const here = (file: string | null) => file === null || file === name || file.startsWith('..');
  const noteIn = (folder: string) => (event: WatchEventType, file: string | null) => {
    watched.changed = true;
    if (file !== null) absent.note(event, join(folder, file));
    events.next(event);
  };
  const noteAround = noteIn(dirname(path));
  const around = kernelWatch(dirname(path), (event, file) => here(file) && noteAround(event, file));
  const inside = kernelWatch(path, noteIn(path));
  const watched = {
    changed: false,
    failure: inside.failure,
    next: (quietMs: number, mostMs: number) => {
      const quiet = (event: WatchEventType) => timer(event === 'change' ? quietMs : AT_ONCE_MS);
      return merge(timer(mostMs), events.pipe(debounce(quiet))).pipe(
        take(1),
        map(() => undefined),
      );
    },
    noteWriting: () => events.next('change'),
    close: () => [around, inside].forEach((watcher) => watcher.close()),
  };
  return watched;
}

/** For a path that cannot be watched: only time passes. */
export function noWatch(failure: string): PathWatch {
  const nothing = () => undefined;
  const next = (_quietMs: number, mostMs: number) => timer(mostMs).pipe(map(nothing));
  return { changed: false, failure, next, noteWriting: nothing, close: nothing };
}

/** A removal and a making that are further apart are two events of their own: the file is looked for in between. */
const PAIR_MS = 1_000;
/** Of files whose names are remembered: there may be ever new ones. */
const RENAMES_MAX = 1_000;

/**
 * Finds files that were removed, also if they were made again before anybody could look, over all watches of a source: on a busy machine a
 * removal may come in one watch and the making in the next. Node calls the removal, the making and the replacement of a file all `rename`: a
 * replacement is one such event, a removal and a making are two, and a write follows.
 */
export class AbsentFiles {
  /** Paths of files that were there no more at some moment. Whoever reads the files again empties it. */
  readonly gone = new Set<string>();
  readonly #now: () => number;
  /** By path, the last events that were `rename`: how many, and when the last one came. */
  readonly #renames = new Map<string, { readonly count: number; readonly at: number }>();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  note(event: WatchEventType, path: string): void {
    const at = this.#now();
    const last = this.#renames.get(path);
    const count = last !== undefined && at - last.at <= PAIR_MS ? last.count : 0;
    if (this.#renames.size >= RENAMES_MAX) this.#renames.clear();
    if (event === 'rename') {
      this.#renames.set(path, { count: count + 1, at });
      void this.#look(path);
    } else {
      this.#renames.delete(path);
      if (count >= 2) this.gone.add(path);
    }
  }

  async #look(path: string): Promise<void> {
    try {
      await lstat(path);
    } catch (error) {
      if (isAbsence(error)) this.gone.add(path);
    }
  }
}

/** Files that are moved together are read together. */
const AT_ONCE_MS = 10;
