import { existsSync } from 'node:fs';
import { readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { planRotation, rotatedLogs } from '../../policies/garbage/log-rotation.ts';
import { compressLog } from './compress-log.ts';

export interface Rotation {
  readonly logPath: string;
  /** Including the log itself. */
  readonly maxFiles: number;
  readonly nowMs: number;
  /** Makes the runtime open the log anew. */
  readonly reopen: () => Promise<void>;
  /** Aborts the compression; the log is rotated nevertheless. */
  readonly signal: AbortSignal;
}

/**
 * Rotates a log: removes the oldest logs, renames the log, and compresses older ones. Compression comes last since it needs space:
 * on a full disk the log is rotated, and older ones stay uncompressed. When this rejects, the log is where it was, or the runtime has
 * opened a new one in its place.
 */
export async function rotateLog({ logPath, maxFiles, nowMs, reopen, signal }: Rotation): Promise<void> {
  const dir = dirname(logPath);
  const plan = planRotation(basename(logPath), await readdir(dir), maxFiles, nowMs);
  for (const name of plan.remove) await rm(join(dir, name), { force: true });
  await moveAside(logPath, join(dir, plan.rotated), reopen);
  for (const name of plan.compress) await compressLog(join(dir, name), signal);
}

/** Removes a log and what it was rotated into. */
export async function removeLogs(logPath: string): Promise<void> {
  const dir = dirname(logPath);
  const log = basename(logPath);
  const names = await readdir(dir).catch((): string[] => []);
  for (const name of [log, ...rotatedLogs(log, names)]) await rm(join(dir, name), { force: true });
}

async function moveAside(logPath: string, rotatedPath: string, reopen: () => Promise<void>): Promise<void> {
  await rename(logPath, rotatedPath);
  try {
    await reopen();
  } catch (error) {
    // A runtime that did not answer in time may have opened a new log nevertheless: it must not be overwritten.
    if (!existsSync(logPath)) await rename(rotatedPath, logPath);
    throw error;
  }
}
