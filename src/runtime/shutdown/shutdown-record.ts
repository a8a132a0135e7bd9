/** The kubelet's file `graceful_node_shutdown_state` in the root folder: when the pods of this node were last ended for a shutdown. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rfc3339Nano, unixMs } from '../../policies/formats/time.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { ifThere } from '../../system/system-errors.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';

const FILE = 'graceful_node_shutdown_state';
const MODE = 0o644;
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
export async function openShutdownRecord(
  rootDir: string,
  logger: Pick<Logger, 'warn'>,
): Promise<ShutdownRecordFile> {
  const path = join(rootDir, FILE);
  const unknown = (problem: unknown) => {
    logger.warn(
      {},
      `${path} cannot be read, so when the last shutdown was is not known: ${errorMessage(problem)}`,
    );
    return { startMs: undefined, endMs: undefined };
  };
  return {
    stored: await read(path).catch(unknown),
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

async function read(path: string): Promise<LastShutdown> {
  const text = await ifThere(readFile(path, 'utf8'));
  if (text === undefined) return { startMs: undefined, endMs: undefined };
  const content = JSON.parse(text) as { readonly startTime?: unknown; readonly endTime?: unknown };
  return { startMs: timeOf(content.startTime), endMs: timeOf(content.endTime) };
}

function timeOf(value: unknown): number | undefined {
  if (value === undefined || value === NEVER) return undefined;
  const ms = typeof value === 'string' ? unixMs(value) : NaN;
  if (Number.isNaN(ms)) throw new Error('it has another form than expected');
  return ms;
}
