import { constants, realpath } from 'node:fs';
import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { lastRotatedLog } from '../../policies/garbage/log-rotation.ts';
import {
  type FailedCall,
  TailStart,
  unopenedLog,
  unreadLog,
  unresolvedLog,
} from '../../policies/logs/log-view.ts';
import { openForeignFile } from '../../../system/files/foreign-file.ts';
import { errnoCode, ifThere } from '../../../system/system-errors.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';

const BLOCK_BYTES = 64 * 1024;

/** What is at the path of a log now, beside the file that is open. */
export type FileChange = 'same' | 'truncated' | 'replaced' | 'replaced by an empty file';

/** A container's log that is being read, from a position on. Rejects with the kubelet's words. */
export class LogFile {
  readonly #handle: FileHandle;
  readonly #path: string;
  #position = 0;

  private constructor(handle: FileHandle, path: string) {
    this.#handle = handle;
    this.#path = path;
  }

  static async open(path: string): Promise<LogFile> {
    let handle: FileHandle | undefined;
    try {
      // A pod that has the folder of logs may have put a pipe there, which must not block the agent.
      handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const stats = await handle.stat();
      if (!stats.isFile() && !stats.isDirectory()) throw notAFile();
      return new LogFile(handle, path);
    } catch (error) {
      await handle?.close();
      throw failure(unopenedLog(path, failedCall(error, path)), error);
    }
  }

  /** Undefined where there is none. It is read as the log of `path`: a new log that the runtime opens there replaces it. */
  static async openRotated(path: string): Promise<LogFile | undefined> {
    const dir = dirname(path);
    const rotated = lastRotatedLog(basename(path), (await ifThere(readdir(dir))) ?? []);
    const handle = rotated === undefined ? undefined : await ifThere(openForeignFile(join(dir, rotated)));
    return handle && new LogFile(handle, path);
  }

  /** Goes to the beginning of the last lines. Reads the file backwards, as far as it has to. */
  async seekTail(lines: number, signal: AbortSignal): Promise<void> {
    const start = new TailStart(lines);
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    for (let end = (await this.#handle.stat()).size; end > 0;) {
      signal.throwIfAborted();
      const from = Math.max(0, end - BLOCK_BYTES);
      const bytesRead = await this.#readAt(block.subarray(0, end - from), from);
      const found = start.find(block.subarray(0, bytesRead));
      if (found !== undefined) {
        this.#position = from + found;
        return;
      }
      end = from;
    }
  }

  /** Returns what was read; it is empty at the end of the file. */
  async read(buffer: Buffer): Promise<Buffer> {
    const bytesRead = await this.#readAt(buffer, this.#position);
    this.#position += bytesRead;
    return buffer.subarray(0, bytesRead);
  }

  async change(): Promise<FileChange> {
    const there = await ifThere(stat(this.#path));
    if (!there) return 'same';
    const { ino, dev } = await this.#handle.stat();
    if (there.ino === ino && there.dev === dev) return there.size < this.#position ? 'truncated' : 'same';
    return there.size > 0 ? 'replaced' : 'replaced by an empty file';
  }

  rewind(): void {
    this.#position = 0;
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }

  async #readAt(buffer: Buffer, position: number): Promise<number> {
    try {
      return (await this.#handle.read(buffer, 0, buffer.length, position)).bytesRead;
    } catch (error) {
      throw failure(unreadLog(this.#path, { ...failedCall(error, this.#path), path: this.#path }), error);
    }
  }
}

/**
 * Opens a log that may be rotated just now: then nothing is at its path until the runtime opens the next one, or until the old one is
 * moved back; an agent that dies in between leaves it so. Rejects with the kubelet's words.
 */
export async function openLog(logPath: string): Promise<{ readonly file: LogFile; readonly path: string }> {
  try {
    return await openAt(await resolveLog(logPath));
  } catch (error) {
    if (errorKind(error) !== 'NotFound') throw error;
    const path = await inResolvedFolder(logPath);
    const file = path === undefined ? undefined : await LogFile.openRotated(path);
    // Meanwhile the rotation may have ended.
    return path !== undefined && file !== undefined ? { file, path } : openAt(await resolveLog(logPath));
  }
}

async function openAt(path: string): Promise<{ readonly file: LogFile; readonly path: string }> {
  return { file: await LogFile.open(path), path };
}

async function inResolvedFolder(path: string): Promise<string | undefined> {
  const dir = await ifThere(promisify(realpath)(dirname(path)));
  return dir === undefined ? undefined : join(dir, basename(path));
}

/** The path without symbolic links: where Docker keeps logs, CRI's path is a link. Rejects with the kubelet's words. */
async function resolveLog(path: string): Promise<string> {
  try {
    return await promisify(realpath)(path);
  } catch (error) {
    throw failure(unresolvedLog(path, failedCall(error, path)), error);
  }
}

/** Texts of the C library where Node has others. */
const REASONS: Readonly<Record<string, string>> = {
  EISDIR: 'is a directory',
  ELOOP: 'too many levels of symbolic links',
};

function notAFile(): Error {
  return Object.assign(new Error('is not a file'), { syscall: 'open' });
}

function failedCall(error: unknown, path: string): FailedCall {
  const { syscall = '', path: failedPath = path } = error as NodeJS.ErrnoException;
  // `ENOENT: no such file or directory, lstat '/var/log/…'`
  const [, words = errorMessage(error)] = /^[A-Z0-9]+: (.*?), /.exec(errorMessage(error)) ?? [];
  return { call: syscall, path: failedPath, reason: REASONS[errnoCode(error) ?? ''] ?? words };
}

function failure(message: string, cause: unknown): StateletError {
  return new StateletError(errnoCode(cause) === 'ENOENT' ? 'NotFound' : 'Internal', message, { cause });
}
