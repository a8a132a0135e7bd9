/** The file `past-lives.json` in the root folder: how often containers of removed pods have run. */
import { join } from 'node:path';
import { OneAtATime } from '../../system/promises.ts';
import { replaceFile } from '../../system/replace-file.ts';
import type { Logger } from '../../types/logger.ts';
import { readRootRecord } from '../node/root-record.ts';
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
    stored: readRootRecord<readonly PastLife[]>(
      {
        path,
        bytesMax: BYTES_MAX,
        parse: livesIn,
        otherwise: [],
        consequence: 'containers of removed pods count anew',
      },
      logger,
    ),
    write: (lives) => turns.run(() => replaceFile(path, `${JSON.stringify({ lives })}\n`, { mode: MODE })),
  };
}

function livesIn(content: unknown): readonly PastLife[] | undefined {
  const lives = (content as { readonly lives?: unknown } | null)?.lives;
  return Array.isArray(lives) && lives.every(isPastLife) ? lives : undefined;
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
