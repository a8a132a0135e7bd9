/** Tells that something may have changed at a path. What it was, only reading again can say. */
import { watch } from 'node:fs';
import { basename, dirname } from 'node:path';
import { debounceTime, map, merge, ReplaySubject, take, timer, type Observable } from 'rxjs';
import { errorMessage } from '../types/errors.ts';

export interface PathWatch {
  /** Whether anything has happened since the watch began. */
  readonly changed: boolean;
  /** Why the path cannot be watched. That it is not there is no reason: its coming will be seen. */
  readonly failure: string | undefined;
  /** Emits once: when it has been quiet for `quietMs` after a change, and after `mostMs` in any case. */
  next(quietMs: number, mostMs: number): Observable<void>;
  close(): void;
}

/**
 * Watches what is in `path` where it is a folder, and the place where `path` is or will be: a folder that is replaced, or
 * a link that is turned, is seen there. Begin it before reading, and begin a new one for each reading.
 */
export function watchPath(path: string): PathWatch {
  const events = new ReplaySubject<void>(1);
  const name = basename(path);
  // Links into `..data`, which is turned as a whole, are how mounted ConfigMaps change.
  const here = (file: string | null) => file === null || file === name || file.startsWith('..');
  const note = () => {
    watched.changed = true;
    events.next();
  };
  const around = start(dirname(path), (file) => here(file) && note());
  const inside = start(path, note);
  const watched = {
    changed: false,
    failure: inside.failure,
    next: (quietMs: number, mostMs: number) =>
      merge(timer(mostMs), events.pipe(debounceTime(quietMs))).pipe(
        take(1),
        map(() => undefined),
      ),
    close: () => [around, inside].forEach((watcher) => watcher.close()),
  };
  return watched;
}

type Watcher = { readonly close: () => void; readonly failure?: string };

/** That it fails is a result: what cannot be watched is read at intervals. */
function start(target: string, onChange: (file: string | null) => void): Watcher {
  try {
    const watcher = watch(target, (_event, file) => onChange(file)).on('error', () => onChange(null));
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
