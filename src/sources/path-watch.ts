/** Says that something may have changed at a path. Only reading it again shows what. */
import type { WatchEventType } from 'node:fs';
import { basename, dirname } from 'node:path';
import { debounce, map, merge, ReplaySubject, take, timer, type Observable } from 'rxjs';
import { kernelWatch } from '../system/kernel-watch.ts';

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
 * symbolic link shows. Start a new watch for each reading, before the reading.
 */
export function watchPath(path: string): PathWatch {
  const events = new ReplaySubject<WatchEventType>(1);
  const name = basename(path);
  // The files of a mounted ConfigMap are links into `..data`, a link that is replaced when the ConfigMap changes.
  const here = (file: string | null) => file === null || file === name || file.startsWith('..');
  const note = (event: WatchEventType) => {
    watched.changed = true;
    events.next(event);
  };
  const around = kernelWatch(dirname(path), (event, file) => here(file) && note(event));
  const inside = kernelWatch(path, note);
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

/** Files that are moved together are read together. */
const AT_ONCE_MS = 10;
