/** The file `past-lives.json` in the root folder: how often containers of removed pods have run. */
import { join } from 'node:path';
import { OneAtATime } from '../../system/promises/one-at-a-time.ts';
import { readPlainFile } from '../../system/plain-file.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';
import type { PastLife, PastLivesStore } from './past-lives.ts';

const FILE = 'past-lives.json';
const MODE = 0o600;
const BYTES_MAX = 16 * 1024 * 1024;

/** A file that cannot be read, or is damaged, is reported: containers count anew. */
export function openPastLivesFile(rootDir: string, logger: Pick<Logger, 'warn'>): PastLivesStore {
  const path = join(rootDir, FILE);
  // The newest stays.
  const turns = new OneAtATime();
  return {
    stored: read(path, logger),
    write: (lives) => turns.run(() => replaceFile(path, `${JSON.stringify({ lives })}\n`, { mode: MODE })),
  };
}

function read(path: string, logger: Pick<Logger, 'warn'>): readonly PastLife[] {
  try {
    const { lives } = JSON.parse(readPlainFile(path, BYTES_MAX)) as { lives: unknown };
    if (Array.isArray(lives) && lives.every(isPastLife)) return lives;
    throw new Error('it has another form than expected');
  } catch (error) {
    if (errnoCode(error) !== 'ENOENT')
      logger.warn(
        {},
        `${path} cannot be read, so containers of removed pods count anew: ${errorMessage(error)}`,
      );
    return [];
  }
}

function isPastLife(value: unknown): value is PastLife {
  const { uid, instances, endedAt } = (value ?? {}) as Partial<Record<keyof PastLife, unknown>>;
  return (
    typeof uid === 'string' &&
    typeof endedAt === 'number' &&
    typeof instances === 'object' &&
    instances !== null &&
    Object.values(instances).every((count) => Number.isSafeInteger(count))
  );
}
