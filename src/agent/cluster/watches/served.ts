import { sleep } from '../../../system/timer.ts';
import { ApiError } from '../service/api-error.ts';
import type { ApiResource } from '../service/api-resources.ts';
import type { ApiDiscovery } from '../service/api-server.ts';
import type { WatchTiming } from './reflect.ts';

const FIRST_PAUSE_MS = 5_000;
const PAUSE_MAX_MS = 60_000;

/**
 * Whether the server has objects of that kind. It is asked once, and again only while there is no answer: whoever installs them later starts
 * the agent anew. Rejects when the signal aborts.
 */
export async function isServedThere(
  api: ApiDiscovery,
  resource: ApiResource,
  { clock, signal }: Pick<WatchTiming, 'clock'> & { readonly signal: AbortSignal },
): Promise<boolean> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
    try {
      return await api.isServed(resource, { signal });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) return false;
      await sleep(clock, pauseMs, signal);
    }
  }
}
