import type { Clock } from '../../types/clock.ts';
import { hasReason } from '../service/api-error.ts';
import type { ObjectReference } from '../service/api-resources.ts';
import type { ApiObject, ApiServer } from '../service/api-server.ts';
import { despiteForbidden } from './despite-forbidden.ts';

/** A pod must not wait longer for a server that does not answer: what it needs may already be on its disk. */
const READ_LIMIT_MS = 3_000;

export interface ObjectAccess {
  readonly api: ApiServer;
  readonly clock: Clock;
}

/** As the server has it now; undefined where there is none. Rejects where the server does not say. */
export async function readObject<T extends ApiObject>(
  { api, clock }: ObjectAccess,
  reference: ObjectReference,
): Promise<T | undefined> {
  try {
    return await despiteForbidden(clock, () => api.get<T>(reference, { timeoutMs: READ_LIMIT_MS }));
  } catch (error) {
    if (hasReason(error, 'NotFound')) return undefined;
    throw error;
  }
}
