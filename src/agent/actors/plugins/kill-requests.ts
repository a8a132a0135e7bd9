/** How the API server is asked to end a pod for plugins, and what its answers mean. */
import { ApiError, hasReason } from '../../cluster/service/api-error.ts';
import type { ObjectReference } from '../../cluster/service/api-resources.ts';
import type { ApiObject, ApiServer, RequestOptions } from '../../cluster/service/api-server.ts';
import type { PodKillEvent } from '../../machines/pod-kill-machine.ts';
import { killRemedy, type KillRefusal, refusalKind } from '../../policies/eviction-plugins/pod-kill.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { PodKillerName } from '../../../types/node-settings.ts';
import type { Pod } from '../../../types/kubernetes.ts';

const REQUEST_TIMEOUT_MS = 30_000;

export type KillApi = Pick<ApiServer, 'get' | 'create' | 'delete'>;

export interface KillRequest {
  readonly pod: Pod;
  readonly killer: Exclude<PodKillerName, 'SyncPodKill'>;
  readonly gracePeriodSeconds: number;
  readonly signal: AbortSignal;
}

export type KillAnswer = Extract<PodKillEvent, { type: 'TAKEN' | 'ENDING' | 'REFUSED' }>;

/** `policy/v1`, Eviction, as far as it is sent. */
interface Eviction extends ApiObject {
  readonly apiVersion: 'policy/v1';
  readonly kind: 'Eviction';
  readonly deleteOptions: object;
}

/** The request is about this pod alone: an object of the same name with another UID stays. */
export async function askServer(api: KillApi, request: KillRequest): Promise<KillAnswer> {
  try {
    await send(api, request);
    return { type: 'TAKEN', awaits: 'Object' };
  } catch (error) {
    if (await isGone(api, request, error)) return { type: 'ENDING', awaits: 'Object' };
    return { type: 'REFUSED', refusal: refusalOf(request, error) };
  }
}

async function send(
  api: KillApi,
  { pod, killer, gracePeriodSeconds, signal }: KillRequest,
): Promise<unknown> {
  const { uid, name, namespace } = pod.metadata;
  const target: ObjectReference = { resource: 'pods', namespace, name };
  if (killer === 'DeletionAPI') return api.delete(target, { gracePeriodSeconds, uid, ...limits(signal) });
  const eviction: Eviction = {
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name, namespace },
    deleteOptions: { gracePeriodSeconds, preconditions: { uid } },
  };
  const subresource: ObjectReference = { ...target, subresource: 'eviction' };
  return api.create<Eviction>(subresource, eviction, limits(signal));
}

/** A server that asks for a later try (Retry-After) has answered: the chart does the waiting, and shows it. */
function limits(signal: AbortSignal): RequestOptions {
  return { signal, timeoutMs: REQUEST_TIMEOUT_MS, isOnlyForNow: true };
}

/** Whether there is no object of that UID. A conflict may also be one of versions, so the object is looked at. */
async function isGone(api: KillApi, { pod, signal }: KillRequest, error: unknown): Promise<boolean> {
  if (hasReason(error, 'NotFound')) return true;
  if (!hasReason(error, 'Conflict')) return false;
  const { uid, name, namespace } = pod.metadata;
  try {
    const found = await api.get<Pod>({ resource: 'pods', namespace, name }, limits(signal));
    return found.metadata.uid !== uid;
  } catch (other) {
    return hasReason(other, 'NotFound');
  }
}

function refusalOf({ pod, killer }: KillRequest, error: unknown): KillRefusal {
  const { status, retryAfterMs: askedMs } = error instanceof ApiError ? error : {};
  const kind = refusalKind(status);
  const message = errorMessage(error);
  const problem = kind === 'Refused' ? `${message}: ${killRemedy(pod, killer)}` : message;
  return { kind, problem, askedMs };
}
