/** The kubelet's file `graceful_node_shutdown_state` in the root folder: when the pods of this node were last ended for a shutdown. */
import { join } from 'node:path';
import { rfc3339Nano, unixMs } from '../../policies/formats/time.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';
import { readRootRecord } from '../node/root-record.ts';

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
    stored: readRootRecord<LastShutdown>(
      {
        path,
        bytesMax: BYTES_MAX,
        parse: timesIn,
        otherwise: { startMs: undefined, endMs: undefined },
        consequence: 'when the last shutdown was is not known',
      },
      logger,
    ),
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

function timesIn(content: unknown): LastShutdown | undefined {
  const { startTime, endTime } = (content ?? {}) as Partial<Record<'startTime' | 'endTime', unknown>>;
  const [startMs, endMs] = [timeOf(startTime), timeOf(endTime)];
  const isWrong = content === null || Number.isNaN(startMs) || Number.isNaN(endMs);
  return isWrong ? undefined : { startMs, endMs };
}

/** NaN for another form. */
function timeOf(value: unknown): number | undefined {
  if (value === undefined || value === NEVER) return undefined;
  return typeof value === 'string' ? unixMs(value) : NaN;
}
