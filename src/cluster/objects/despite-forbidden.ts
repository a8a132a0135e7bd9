import { sleep } from '../../system/sleep.ts';
import type { Clock } from '../../types/clock.ts';
import { hasReason } from '../service/api-error.ts';

/** The server's authorizer learns a moment later than the node that a pod was bound to the node. */
const AFTER_FORBIDDEN_MS = [100, 300, 600] as const;
const NEVER_ABORTED = new AbortController().signal;

/** Runs the request again where the server forbids it, for about a second. */
export async function despiteForbidden<T>(
  clock: Clock,
  request: () => Promise<T>,
  signal: AbortSignal = NEVER_ABORTED,
): Promise<T> {
  for (const pauseMs of AFTER_FORBIDDEN_MS) {
    try {
      return await request();
    } catch (error) {
      if (!hasReason(error, 'Forbidden')) throw error;
      await sleep(clock, pauseMs, signal);
    }
  }
  return request();
}
