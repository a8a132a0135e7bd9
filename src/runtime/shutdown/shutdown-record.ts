/** The kubelet's file `graceful_node_shutdown_state` in the root folder: when the pods of this node were last ended for a shutdown. */
import { join } from 'node:path';
import { rfc3339Nano, unixMs } from '../../policies/formats/time.ts';
import { readPlainFile } from '../../system/plain-file.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { errnoCode } from '../../system/system-errors.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';

const FILE = 'graceful_node_shutdown_state';
const MODE = 0o644;
const BYTES_MAX = 64 * 1024;
/** Go's zero time: it has not happened. */
const NEVER = '0001-01-01T00:00:00Z';

/** In Unix ms. Undefined: it is not known, or has not happened. */
export interface LastShutdown {
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

export interface ShutdownRecordFile {
  readonly stored: LastShutdown;
  /** Never rejects. */
  write(startMs: number, endMs: number | undefined): Promise<void>;
}

/** A file that cannot be read, or written, is reported: nothing but metrics depends on it. */
export function openShutdownRecord(rootDir: string, logger: Pick<Logger, 'warn'>): ShutdownRecordFile {
  const path = join(rootDir, FILE);
  return {
    stored: read(path, logger),
    write: async (startMs, endMs) => {
      const content = {
        startTime: rfc3339Nano(startMs),
        endTime: endMs === undefined ? NEVER : rfc3339Nano(endMs),
      };
      try {
        // The machine is about to be switched off.
        await replaceFile(path, JSON.stringify(content), { mode: MODE, flush: true });
      } catch (error) {
        logger.warn({}, `${path} cannot be written: ${errorMessage(error)}`);
      }
    },
  };
}

function read(path: string, logger: Pick<Logger, 'warn'>): LastShutdown {
  try {
    const content = JSON.parse(readPlainFile(path, BYTES_MAX)) as Partial<
      Record<'startTime' | 'endTime', unknown>
    >;
    return { startMs: timeOf(content.startTime), endMs: timeOf(content.endTime) };
  } catch (error) {
    if (errnoCode(error) !== 'ENOENT')
      logger.warn(
        {},
        `${path} cannot be read, so when the last shutdown was is not known: ${errorMessage(error)}`,
      );
    return { startMs: undefined, endMs: undefined };
  }
}

function timeOf(value: unknown): number | undefined {
  if (value === undefined || value === NEVER) return undefined;
  const ms = typeof value === 'string' ? unixMs(value) : NaN;
  if (Number.isNaN(ms)) throw new Error('it has another form than expected');
  return ms;
}
