import { filter, firstValueFrom, fromEvent, map, takeUntil } from 'rxjs';
import { sleep } from '../../../system/timer.ts';
import type { ObjectMeta } from '../../../types/kubernetes.ts';
import { ApiError } from '../service/api-error.ts';
import { type ApiResource, servedResource } from '../service/api-resources.ts';
import type { ApiDiscovery, ObjectReader } from '../service/api-server.ts';
import type { WatchTiming } from './reflect.ts';
import { watchObject } from './watched-object.ts';

const FIRST_PAUSE_MS = 5_000;
const PAUSE_MAX_MS = 60_000;
const LIST_TIMEOUT_MS = 60_000;

type Options = WatchTiming & { readonly signal: AbortSignal };

interface CustomResourceDefinition {
  readonly metadata: ObjectMeta;
  readonly status?: {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/**
 * Resolves with true once the server has objects of that kind, which may be installed at any time: until then, their definition is watched. With
 * false where that is refused: then an installation is not noticed. Rejects when the signal aborts.
 */
export async function isServedInTime(
  api: ApiDiscovery & ObjectReader,
  resource: ApiResource,
  options: Options,
): Promise<boolean> {
  const ask = { signal: options.signal };
  if (await answered(() => api.isServed(resource, ask), options)) return true;
  const definitions = { resource: 'customresourcedefinitions' } as const;
  const name = `${resource}.${servedResource(resource).group}`;
  const list = { ...ask, fieldSelector: `metadata.name=${name}`, timeoutMs: LIST_TIMEOUT_MS };
  const listed = async () => {
    await api.list(definitions, list);
    return true;
  };
  // A watch would ask again and again where it is refused.
  if (!(await answered(listed, options))) return false;
  const established = watchObject<CustomResourceDefinition>(
    api,
    { ...definitions, name },
    {
      ...options,
      // Its schema is large.
      keep: ({ metadata: { name, uid, resourceVersion }, status }) => ({
        metadata: { name, uid, resourceVersion },
        status: { conditions: status?.conditions ?? [] },
      }),
    },
  ).pipe(
    map(({ object }) => isEstablished(object)),
    filter(Boolean),
    takeUntil(fromEvent(options.signal, 'abort')),
  );
  await firstValueFrom(established, { defaultValue: false });
  options.signal.throwIfAborted();
  return true;
}

/** Asks again while there is no answer. A refusal counts as false. */
async function answered(ask: () => Promise<boolean>, { clock, signal }: Options): Promise<boolean> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MAX_MS)) {
    try {
      return await ask();
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ApiError && error.status < 500 && error.status !== 429) return false;
      await sleep(clock, pauseMs, signal);
    }
  }
}

function isEstablished(definition: CustomResourceDefinition | undefined): boolean {
  const conditions = definition?.status?.conditions ?? [];
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True');
}
