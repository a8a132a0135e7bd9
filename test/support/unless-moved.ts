import { errnoCode } from '../../src/system/system-errors.ts';

/** Undefined where a file is not there: during a rotation the log of a container is missing for a moment. */
export function unlessMoved<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (errnoCode(error) !== 'ENOENT') throw error;
    return undefined;
  }
}
