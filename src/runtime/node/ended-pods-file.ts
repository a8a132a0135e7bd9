/** The file `ended-pods.json` in the root folder: the pods of manifests that must not start again. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EndedPod } from '../../policies/pod/ended-pod.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { ifThere } from '../../system/system-errors.ts';
import { errorMessage } from '../../types/errors.ts';
import type { Logger } from '../../types/logger.ts';

const FILE = 'ended-pods.json';
const MODE = 0o600;

interface EndedPodsFile {
  readonly stored: readonly EndedPod[];
  write(pods: readonly EndedPod[]): Promise<void>;
}

/** A file that cannot be read, or is damaged, is reported: its pods start again. */
export async function openEndedPodsFile(rootDir: string, logger: Logger): Promise<EndedPodsFile> {
  const path = join(rootDir, FILE);
  return {
    stored: await read(path).catch((error: unknown) => {
      const problem = `${path} cannot be read, so pods that have ended start again: ${errorMessage(error)}`;
      logger.warn({}, problem);
      return [];
    }),
    write: (pods) => replaceFile(path, `${JSON.stringify({ pods })}\n`, { mode: MODE, flush: true }),
  };
}

async function read(path: string): Promise<readonly EndedPod[]> {
  const text = await ifThere(readFile(path, 'utf8'));
  if (text === undefined) return [];
  const content: unknown = JSON.parse(text);
  const pods = (content as { pods?: unknown } | null)?.pods;
  if (!Array.isArray(pods) || !pods.every(isEndedPod)) throw new Error('it has another form than expected');
  return pods;
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
