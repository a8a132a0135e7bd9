import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { TERMINATION_MESSAGE_POLICY_ANNOTATION } from '../../policies/cri/cri-labels.ts';
import { O_PATH, placeOf } from '../../../system/files/open-place.ts';
import { outputTail } from '../logs/cri-log-format.ts';

const MAX_MESSAGE_BYTES = 4096;
const LOG_TAIL_BYTES = 32 * 1024;
const GROUP_WRITE = 0o020;
const OTHERS_WRITE = 0o002;

export interface EndedContainer {
  readonly annotations: Readonly<Record<string, string>>;
  readonly exitCode: number;
}

/** A user of the machine. */
interface Writer {
  readonly uid: number;
  readonly gids: readonly number[];
}

export interface MessageFiles {
  /** The path on this machine to which the container writes its message. */
  readonly message: string | undefined;
  /** The user of the container, where the container chooses the path: a file of another user is not shown as its message. */
  readonly writer?: Writer | undefined;
  /** A message that was last written before this time (Unix ms) is not from this container. */
  readonly writtenSinceMs: number;
  readonly log: string | undefined;
}

/** The message of an ended container: from its file, or from its log if it failed and its policy says so. */
export function terminationMessage({ annotations, exitCode }: EndedContainer, files: MessageFiles): string {
  const { message, writer, writtenSinceMs } = files;
  // File times come from the kernel's coarse clock, up to 10 ms behind.
  const isOwn = (stats: Stats) =>
    stats.mtimeMs >= writtenSinceMs - 10 && (!writer || mayWrite(writer, stats));
  const own = message === undefined ? undefined : readEnd(message, MAX_MESSAGE_BYTES, isOwn);
  if (own !== undefined && own.length > 0) return own.toString('utf8');
  const fallback = annotations[TERMINATION_MESSAGE_POLICY_ANNOTATION] === 'FallbackToLogsOnError';
  if (!fallback || exitCode === 0 || files.log === undefined) return '';
  return outputTail(readEnd(files.log, LOG_TAIL_BYTES, () => true)?.toString('latin1') ?? '');
}

/**
 * The last bytes of a plain file; undefined for anything else. The container may have put anything there: a link to a secret of another
 * pod, a pipe that blocks its reader, or the name of a device, which does something when it is opened.
 */
function readEnd(path: string, maxBytes: number, isWanted: (stats: Stats) => boolean): Buffer | undefined {
  const fds: number[] = [];
  const opened = (at: string, flags: number) => {
    const fd = openSync(at, flags);
    fds.push(fd);
    return fd;
  };
  try {
    const place = opened(path, O_PATH | constants.O_NOFOLLOW);
    const stats = fstatSync(place);
    if (!stats.isFile() || !isWanted(stats)) return undefined;
    const file = opened(placeOf({ fd: place }), constants.O_RDONLY | constants.O_NONBLOCK);
    const bytes = Buffer.alloc(Math.min(stats.size, maxBytes));
    return bytes.subarray(0, readSync(file, bytes, 0, bytes.length, stats.size - bytes.length));
  } catch {
    return undefined;
  } finally {
    for (const fd of fds) closeSync(fd);
  }
}

function mayWrite({ uid, gids }: Writer, stats: Stats): boolean {
  const byGroup = gids.includes(stats.gid) ? GROUP_WRITE : 0;
  return stats.uid === uid || (stats.mode & (OTHERS_WRITE | byGroup)) !== 0;
}
