/** Tells that something may have changed at a path. What it was, only reading again can say. */
import { watch, type WatchEventType } from 'node:fs';
import { basename, dirname } from 'node:path';
import { debounce, map, merge, ReplaySubject, take, timer, type Observable } from 'rxjs';
import { errorMessage } from '../types/errors.ts';

export interface PathWatch {
  /** Whether anything has happened since the watch began. */
  readonly changed: boolean;
  /** Why the path cannot be watched. That it is not there is no reason: its coming will be seen. */
  readonly failure: string | undefined;
  /**
   * Emits once: when it has been quiet for `quietMs` after something was written, at once after something came or went as
   * a whole, and after `mostMs` in any case.
   */
  next(quietMs: number, mostMs: number): Observable<void>;
  /** Something here is being written, whether or not an event has told so. */
  noteWriting(): void;
  close(): void;
}

/**
 * Watches what is in `path` where it is a folder, and the place where `path` is or will be: a folder that is replaced, or
 * a link that is turned, is seen there. Begin it before reading, and begin a new one for each reading.
 */
export function watchPath(path: string): PathWatch {
  const events = new ReplaySubject<WatchEventType>(1);
  const name = basename(path);
  // Links into `..data`, which is turned as a whole, are how mounted ConfigMaps change.
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

/** What is moved in or out together is read together. */
const AT_ONCE_MS = 10;

type Watcher = { readonly close: () => void; readonly failure?: string };

/** That it fails is a result: what cannot be watched is read at intervals. */
function start(target: string, onChange: (event: WatchEventType, file: string | null) => void): Watcher {
  try {
    const watcher = watch(target, onChange).on('error', () => onChange('rename', null));
    return { close: () => watcher.close() };
  } catch (error) {
    return { close: () => undefined, ...(!isAbsence(error) && { failure: errorMessage(error) }) };
  }
}

/** Whether a call of `node:fs` failed because there is nothing at the path. */
export function isAbsence(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
