import type { Clock } from '../../types/clock.ts';
import type { PersistentVolume, PersistentVolumeClaim } from '../../types/kubernetes.ts';
import { apiPath, type ObjectReference } from '../service/api-resources.ts';
import type { ApiObject, ApiServer } from '../service/api-server.ts';
import { type ObjectAccess, readObject } from './read-object.ts';

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
