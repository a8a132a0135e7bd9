/** Says that something may have changed at a path. Only reading it again shows what. */
import { watch, type WatchEventType } from 'node:fs';
import { basename, dirname } from 'node:path';
import { debounce, map, merge, ReplaySubject, take, timer, type Observable } from 'rxjs';
import { errorMessage } from '../types/errors.ts';

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
  const around = start(dirname(path), (event, file) => here(file) && note(event));
  const inside = start(path, note);
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

/** Files that are moved together are read together. */
const AT_ONCE_MS = 10;

type Watcher = { readonly close: () => void; readonly failure?: string };

/** A failure is no error: a path that cannot be watched is read at intervals. */
function start(target: string, onChange: (event: WatchEventType, file: string | null) => void): Watcher {
  try {
    const watcher = watch(target, onChange).on('error', () => onChange('rename', null));
    return { close: () => watcher.close() };
  } catch (error) {
    return { close: () => undefined, ...(!isAbsence(error) && { failure: errorMessage(error) }) };
  }
}

/** Whether a call of `node:fs` failed because the path does not exist. */
export function isAbsence(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
