import { readPlainFile } from '../../system/plain-file.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';

export interface RootRecord<T> {
  readonly path: string;
  readonly bytesMax: number;
  /** Undefined for a content of another form. */
  readonly parse: (content: unknown) => T | undefined;
  /** Where there is no such file, or it cannot be read. */
  readonly otherwise: T;
  /** Completes the sentence "PATH cannot be read, so …". */
  readonly consequence: string;
}

/** What the agent has kept in a JSON file of its root folder. A file that cannot be read, or is damaged, is reported. */
export function readRootRecord<T>(
  { path, bytesMax, parse, otherwise, consequence }: RootRecord<T>,
  logger: Pick<Logger, 'warn'>,
): T {
  try {
    const value = parse(JSON.parse(readPlainFile(path, bytesMax)));
    if (value === undefined) throw new Error('it has another form than expected');
    return value;
  } catch (error) {
    if (errnoCode(error) !== 'ENOENT')
      logger.warn({}, `${path} cannot be read, so ${consequence}: ${errorMessage(error)}`);
    return otherwise;
  }
}
