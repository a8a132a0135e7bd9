import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { TERMINATION_MESSAGE_POLICY_ANNOTATION } from '../../policies/cri/cri-labels.ts';
import { outputTail } from '../process/containers/cri-log-format.ts';

const MAX_MESSAGE_BYTES = 4096;
const LOG_TAIL_BYTES = 32 * 1024;

export interface EndedContainer {
  readonly annotations: Readonly<Record<string, string>>;
  readonly exitCode: number;
}

export interface MessageFiles {
  /** The path on this machine to which the container writes its message. */
  readonly message: string | undefined;
  /** A message that was last written before this time (Unix ms) is not from this container. */
  readonly writtenSinceMs: number;
  readonly log: string | undefined;
}

/** The message of an ended container: from its file, or from its log if it failed and its policy says so. */
export function terminationMessage({ annotations, exitCode }: EndedContainer, files: MessageFiles): string {
  const own =
    files.message === undefined ? undefined : readEnd(files.message, MAX_MESSAGE_BYTES, files.writtenSinceMs);
  if (own !== undefined && own.length > 0) return own.toString('utf8');
  const fallback = annotations[TERMINATION_MESSAGE_POLICY_ANNOTATION] === 'FallbackToLogsOnError';
  if (!fallback || exitCode === 0 || files.log === undefined) return '';
  return outputTail(readEnd(files.log, LOG_TAIL_BYTES, 0)?.toString('latin1') ?? '');
}

/** The last bytes of a regular file that was changed since that time; undefined for anything else. */
function readEnd(path: string, maxBytes: number, changedSinceMs: number): Buffer | undefined {
  let fd: number | undefined;
  try {
    // The container may have put anything there: a link to a secret of another pod, or a pipe that blocks its reader.
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
