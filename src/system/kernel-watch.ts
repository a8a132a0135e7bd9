/** The kernel's events of a file or a folder, for all who read it again after each of them. */
import { watch, type WatchEventType } from 'node:fs';
import { errorMessage } from '../types/errors.ts';
import { isAbsence } from './system-errors.ts';

export interface KernelWatch {
  close(): void;
  /** Why the path cannot be watched. Undefined also for a path that does not exist: no event comes from there. */
  readonly failure?: string;
}

/** A failure is no error: a path that cannot be watched is read at intervals. `file`: its name in the folder, where it is known. */
export function kernelWatch(
  path: string,
  onChange: (event: WatchEventType, file: string | null) => void,
): KernelWatch {
  try {
    const watcher = watch(path, onChange).on('error', () => onChange('rename', null));
    return { close: () => watcher.close() };
  } catch (error) {
    return { close: () => undefined, ...(!isAbsence(error) && { failure: errorMessage(error) }) };
  }
}
