/** The lock and the records in the root folder of an agent. */
import { join } from 'node:path';
import { rfc3339Nano, unixMs } from '../../policies/formats/time.ts';
import type { EndedPod } from '../../policies/termination/ended-pod.ts';
import { type FileLock, type HeldLock, lockFile, lookAtLock } from '../../../system/file-lock.ts';
import { makeFolder } from '../../../system/make-folder.ts';
import { readPlainFile } from '../../../system/plain-file.ts';
import { OneAtATime } from '../../../system/promises.ts';
import { replaceFile } from '../../../system/replace-file.ts';
import { errnoCode, isOutOfSpace } from '../../../system/system-errors.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import type { Logger } from '../../../types/logger.ts';
import type { InstanceCountsStore, PodInstances } from '../pods/instance-counts.ts';

export interface RootRecord<T> {
  readonly path: string;
  readonly bytesMax: number;
  /** Undefined for a content of another form. */
  readonly parse: (content: unknown) => T | undefined;
  /** Where there is no such file, or it cannot be read. */
  readonly otherwise: T;
  /** Completes the sentence "PATH cannot be read, so …". */
  readonly consequence: string;
}

/** What the agent has kept in a JSON file of its root folder. A file that cannot be read, or is damaged, is reported. */
export function readRootRecord<T>(
  { path, bytesMax, parse, otherwise, consequence }: RootRecord<T>,
  logger: Pick<Logger, 'warn'>,
): T {
  try {
    const value = parse(JSON.parse(readPlainFile(path, bytesMax)));
    if (value === undefined) throw new Error('it has another form than expected');
    return value;
  } catch (error) {
    if (errnoCode(error) !== 'ENOENT')
      logger.warn({}, `${path} cannot be read, so ${consequence}: ${errorMessage(error)}`);
    return otherwise;
  }
}

const ENDED_PODS_FILE = 'ended-pods.json';

const ENDED_PODS_MODE = 0o600;

/** A status has some kilobytes. */
const ENDED_PODS_BYTES_MAX = 64 * 1024 * 1024;

interface EndedPodsFile {
  readonly stored: readonly EndedPod[];
  write(pods: readonly EndedPod[]): Promise<void>;
}

/** A file that cannot be read, or is damaged, is reported: its pods start again. */
export function openEndedPodsFile(rootDir: string, logger: Logger): EndedPodsFile {
  const path = join(rootDir, ENDED_PODS_FILE);
  return {
    stored: readRootRecord<readonly EndedPod[]>(
      {
        path,
        bytesMax: ENDED_PODS_BYTES_MAX,
        parse: podsIn,
        otherwise: [],
        consequence: 'pods that have ended start again',
      },
      logger,
    ),
    write: (pods) =>
      replaceFile(path, `${JSON.stringify({ pods })}\n`, { mode: ENDED_PODS_MODE, flush: true }),
  };
}

function podsIn(content: unknown): readonly EndedPod[] | undefined {
  const pods = (content as { readonly pods?: unknown } | null)?.pods;
  return Array.isArray(pods) && pods.every(isEndedPod) ? pods : undefined;
}

function isEndedPod(value: unknown): value is EndedPod {
  const { uid, gracePeriodSeconds, content, status } = (value ?? {}) as Partial<
    Record<keyof EndedPod, unknown>
  >;
  return (
    typeof uid === 'string' &&
    (gracePeriodSeconds === undefined || Number.isSafeInteger(gracePeriodSeconds)) &&
    (content === undefined || typeof content === 'string') &&
    (status === undefined || hasPhase(status))
  );
}

function hasPhase(status: unknown): boolean {
  return typeof (status as { phase?: unknown } | null)?.phase === 'string';
}

const EARLIER_INSTANCES_FILE = 'past-lives.json';

const EARLIER_MODE = 0o600;

const EARLIER_BYTES_MAX = 16 * 1024 * 1024;

/** A file that cannot be read, or is damaged, is reported: containers count anew. */
export function openInstanceCounts(rootDir: string, logger: Pick<Logger, 'warn'>): InstanceCountsStore {
  const path = join(rootDir, EARLIER_INSTANCES_FILE);
  // The newest stays.
  const turns = new OneAtATime();
  return {
    stored: readRootRecord<readonly PodInstances[]>(
      {
        path,
        bytesMax: EARLIER_BYTES_MAX,
        parse: instancesIn,
        otherwise: [],
        consequence: 'containers of removed pods count anew',
      },
      logger,
    ),
    write: (lives) =>
      turns.run(() => replaceFile(path, `${JSON.stringify({ lives })}\n`, { mode: EARLIER_MODE })),
  };
}

function instancesIn(content: unknown): readonly PodInstances[] | undefined {
  const lives = (content as { readonly lives?: unknown } | null)?.lives;
  return Array.isArray(lives) && lives.every(isPodInstances) ? lives : undefined;
}

function isPodInstances(value: unknown): value is PodInstances {
  const { uid, instances, endedAt } = (value ?? {}) as Partial<Record<keyof PodInstances, unknown>>;
  return (
    typeof uid === 'string' &&
    typeof endedAt === 'number' &&
    typeof instances === 'object' &&
    instances !== null &&
    Object.values(instances).every((count) => Number.isSafeInteger(count))
  );
}

const SHUTDOWN_FILE = 'graceful_node_shutdown_state';

const SHUTDOWN_MODE = 0o644;

const SHUTDOWN_BYTES_MAX = 64 * 1024;

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
  const path = join(rootDir, SHUTDOWN_FILE);
  return {
    stored: readRootRecord<LastShutdown>(
      {
        path,
        bytesMax: SHUTDOWN_BYTES_MAX,
        parse: timesIn,
        otherwise: { startMs: undefined, endMs: undefined },
        consequence: 'the time of the last shutdown is not known',
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
        await replaceFile(path, JSON.stringify(content), { mode: SHUTDOWN_MODE, flush: true });
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

export type RootLock = FileLock;

const LOCK_FILE = 'lock';

/**
 * Makes this process the only agent on a root directory. The kernel locks a file in the folder, so that an agent that uses another
 * path to the folder, or runs in another network namespace, finds the same lock.
 */
export async function lockRootDir(rootDir: string): Promise<RootLock> {
  const lock = await locked(rootDir);
  if ('release' in lock) return lock;
  const who = lock.holder === undefined ? '' : ` (pid ${lock.holder})`;
  throw new StateletError(
    'FailedPrecondition',
    `--root-dir ${rootDir} is in use by another instance${who}: stop it, or give this one a folder of its own`,
  );
}

/** Whether an agent has the folder, without keeping one from it that starts. Throws the system's error. */
export function lookAtRootLock(rootDir: string): ReturnType<typeof lookAtLock> {
  return lookAtLock(join(rootDir, LOCK_FILE));
}

async function locked(rootDir: string): Promise<FileLock | HeldLock> {
  try {
    await makeFolder(rootDir);
    return lockFile(join(rootDir, LOCK_FILE));
  } catch (error) {
    if (errorKind(error) === 'FailedPrecondition') throw error;
    const mend = isOutOfSpace(error) ? 'make room on its disk' : 'give a folder that this user may write';
    throw new StateletError('InvalidArgument', `--root-dir ${rootDir}: ${errorMessage(error)}: ${mend}`);
  }
}
