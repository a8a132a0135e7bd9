import { sleep } from '../../../system/timer.ts';
import type { Clock } from '../../../types/clock.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../../types/kubernetes.ts';
import { hasReason } from '../service/api-error.ts';
import { apiPath, type ObjectReference } from '../service/api-resources.ts';
import type { ApiObject, ApiServer } from '../service/api-server.ts';
import type { ConfigObject, ConfigObjectReference, ObjectSource } from './object-references.ts';
import { NEVER_ABORTED } from '../../../system/promises.ts';

/** The strategy `Get`: each read asks the server, and nothing is kept. */
export class FetchedObjects implements ObjectSource {
  readonly #access: ObjectAccess;

  constructor(api: ApiServer, clock: Clock) {
    this.#access = { api, clock };
  }

  referred(): void {
    // Nothing is prepared.
  }

  forgotten(): void {
    // Nothing was kept.
  }

  read(reference: ConfigObjectReference): Promise<ConfigObject | undefined> {
    return readObject(this.#access, reference);
  }

  close(): void {
    // Nothing is under way for longer than a read.
  }
}

/** The pauses after a request that was forbidden: the authorizer learns a moment later than the node that a pod was bound to it. */
const FORBIDDEN_PAUSES_MS = [100, 300, 600] as const;

/** Repeats the request for about a second while the server answers that it is forbidden. */
export async function retryWhileForbidden<T>(
  clock: Clock,
  request: () => Promise<T>,
  signal: AbortSignal = NEVER_ABORTED,
): Promise<T> {
  for (const pauseMs of FORBIDDEN_PAUSES_MS) {
    try {
      return await request();
    } catch (error) {
      if (!hasReason(error, 'Forbidden')) throw error;
      await sleep(clock, pauseMs, signal);
    }
  }
  return request();
}

/** A pod must not wait longer for a server that does not answer: what it needs may already be on its disk. */
const READ_LIMIT_MS = 3_000;

interface ObjectAccess {
  readonly api: ApiServer;
  readonly clock: Clock;
}

/** As the server has it now; undefined where there is none. Rejects where the server does not say. */
export async function readObject<T extends ApiObject>(
  { api, clock }: ObjectAccess,
  reference: ObjectReference,
): Promise<T | undefined> {
  try {
    return await retryWhileForbidden(clock, () => api.get<T>(reference, { timeoutMs: READ_LIMIT_MS }));
  } catch (error) {
    if (hasReason(error, 'NotFound')) return undefined;
    throw error;
  }
}

/**
 * PersistentVolumeClaims and PersistentVolumes. A node may only get them, so nothing is watched, and nothing is kept: a claim that is not
 * bound yet is read again with the next try of its pod.
 */
export class ClaimObjects {
  readonly #access: ObjectAccess;
  /** Pods that ask at the same time share a request. */
  readonly #reads = new Map<string, Promise<ApiObject | undefined>>();

  constructor(api: ApiServer, clock: Clock) {
    this.#access = { api, clock };
  }

  claim(namespace: string, name: string): Promise<PersistentVolumeClaim | undefined> {
    return this.#get({ resource: 'persistentvolumeclaims', namespace, name });
  }

  volume(name: string): Promise<PersistentVolume | undefined> {
    return this.#get({ resource: 'persistentvolumes', name });
  }

  async #get<T extends ApiObject>(reference: ObjectReference): Promise<T | undefined> {
    const key = apiPath(reference);
    const read =
      this.#reads.get(key) ?? readObject(this.#access, reference).finally(() => this.#reads.delete(key));
    this.#reads.set(key, read);
    return (await read) as T | undefined;
  }
}
