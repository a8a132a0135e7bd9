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
  /** The paths of files that were there no more at some moment since the watch began, as far as the kernel reports it. */
  readonly gone: Set<string>;
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
 * symbolic link shows. Start a new watch for each reading, before the reading.
 */
export function watchPath(path: string): PathWatch {
  const events = new ReplaySubject<WatchEventType>(1);
  const name = basename(path);
  // The files of a mounted ConfigMap are links into `..data`, a link that is replaced when the ConfigMap changes.
  const here = (file: string | null) => file === null || file === name || file.startsWith('..');
  const gone = new Set<string>();
  const noteIn = (folder: string) => {
    const absences = new Absences(folder, gone);
    return (event: WatchEventType, file: string | null) => {
      watched.changed = true;
      if (file !== null) absences.note(event, file);
      events.next(event);
    };
  };
  const noteAround = noteIn(dirname(path));
  const around = kernelWatch(dirname(path), (event, file) => here(file) && noteAround(event, file));
  const inside = kernelWatch(path, noteIn(path));
  const watched = {
    changed: false,
    gone,
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
  return { changed: false, gone: new Set(), failure, next, noteWriting: nothing, close: nothing };
}

/**
 * Finds files of a folder that were removed, also if they were made again before anybody could look. Node calls the removal, the making
 * and the replacement of a file all `rename`: a replacement is one such event, a removal and a making are two, and a write follows.
 */
class Absences {
  readonly #folder: string;
  readonly #gone: Set<string>;
  /** Names whose last events were `rename`, and how many. */
  readonly #renames = new Map<string, number>();

  constructor(folder: string, gone: Set<string>) {
    this.#folder = folder;
    this.#gone = gone;
  }

  note(event: WatchEventType, file: string): void {
    const path = join(this.#folder, file);
    const renames = this.#renames.get(file) ?? 0;
    if (event === 'rename') {
      this.#renames.set(file, renames + 1);
      void this.#look(path);
    } else {
      this.#renames.delete(file);
      if (renames >= 2) this.#gone.add(path);
    }
  }

  async #look(path: string): Promise<void> {
    try {
      await lstat(path);
    } catch (error) {
      if (isAbsence(error)) this.#gone.add(path);
    }
  }
}

/** Files that are moved together are read together. */
const AT_ONCE_MS = 10;
