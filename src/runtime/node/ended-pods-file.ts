/** The file `ended-pods.json` in the root folder: the pods of manifests that must not start again. */
import { join } from 'node:path';
import type { EndedPod } from '../../policies/termination/ended-pod.ts';
import { replaceFile } from '../../system/replace-file.ts';
import type { Logger } from '../../types/logger.ts';
import { readRootRecord } from './root-record.ts';

const FILE = 'ended-pods.json';
const MODE = 0o600;
/** A status has some kilobytes. */
const BYTES_MAX = 64 * 1024 * 1024;

interface EndedPodsFile {
  readonly stored: readonly EndedPod[];
  write(pods: readonly EndedPod[]): Promise<void>;
}

/** A file that cannot be read, or is damaged, is reported: its pods start again. */
export function openEndedPodsFile(rootDir: string, logger: Logger): EndedPodsFile {
  const path = join(rootDir, FILE);
  return {
    stored: readRootRecord<readonly EndedPod[]>(
      {
        path,
        bytesMax: BYTES_MAX,
        parse: podsIn,
        otherwise: [],
        consequence: 'pods that have ended start again',
      },
      logger,
    ),
    write: (pods) => replaceFile(path, `${JSON.stringify({ pods })}\n`, { mode: MODE, flush: true }),
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
