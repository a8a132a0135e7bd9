import { accessSync, closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { dirname, isAbsolute } from 'node:path';
import type { ContainerConfig } from '../../types/cri.ts';
import { outputTail } from './cri-log-format.ts';

const PATH_ANNOTATION = 'io.kubernetes.container.terminationMessagePath';
const POLICY_ANNOTATION = 'io.kubernetes.container.terminationMessagePolicy';
const DEFAULT_PATH = '/dev/termination-log';
const MAX_MESSAGE_BYTES = 4096;
const LOG_TAIL_BYTES = 32 * 1024;

/**
 * The file in which a container leaves its termination message. Without a mount namespace nothing can be put at
 * /dev/termination-log, so that the default stands for a private file; any other path is taken at its word where its
 * folder may be written to.
 */
export function terminationPath(config: ContainerConfig, privateFile: string): string {
  const path = config.annotations[PATH_ANNOTATION] ?? '';
  if (path === DEFAULT_PATH || !isAbsolute(path)) return privateFile;
  try {
    accessSync(dirname(path), constants.W_OK);
    return path;
  } catch {
    return privateFile;
  }
}

/** What an ended container has to say, from its file, or from its log where its policy and a failure ask for that. */
export function terminationMessage(
  config: ContainerConfig,
  ended: { exitCode: number; startedAt: number },
  files: { message: string; log: string | undefined },
): string {
  // A file that the container has not written to is not its message, whatever may have been there before.
  const own = readEnd(files.message, MAX_MESSAGE_BYTES, ended.startedAt / 1e6)?.toString('utf8') ?? '';
  const fallback = config.annotations[POLICY_ANNOTATION] === 'FallbackToLogsOnError';
  if (own !== '' || !fallback || ended.exitCode === 0 || files.log === undefined) return own;
  return outputTail(readEnd(files.log, LOG_TAIL_BYTES, 0)?.toString('latin1') ?? '');
}

/** The last bytes of a plain file that was changed since then; undefined for anything else. */
function readEnd(path: string, maxBytes: number, changedSinceMs: number): Buffer | undefined {
  let fd: number | undefined;
  try {
    // The container may have put anything there: a link to another's secret, a pipe that blocks whoever opens it.
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const stat = fstatSync(fd);
    // File times come from the kernel's coarse clock, up to 10 ms behind.
    if (!stat.isFile() || stat.mtimeMs < changedSinceMs - 10) return undefined;
    const bytes = Buffer.alloc(Math.min(stat.size, maxBytes));
    return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, stat.size - bytes.length));
  } catch {
    return undefined;
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}
