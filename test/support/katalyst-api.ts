/** An API server for tests that has only Katalyst's objects. */
import { Subject } from 'rxjs';
import { ApiError } from '../../src/agent/cluster/service/api-error.ts';
import {
  apiPath,
  type ApiResource,
  type Collection,
  type ObjectReference,
} from '../../src/agent/cluster/service/api-resources.ts';
import type {
  ApiDiscovery,
  ApiObject,
  ApiServer,
  ObjectList,
  WatchEvent,
} from '../../src/agent/cluster/service/api-server.ts';
import { isJsonObject } from '../../src/agent/policies/formats/canonical-json.ts';
import { refusal } from './node-api.ts';

type Stored = ApiObject & { readonly metadata: { readonly name: string; readonly resourceVersion?: string } };

export class KatalystApi implements ApiServer, ApiDiscovery {
  /** `get PATH`, `discover RESOURCE`, … */
  readonly requests: string[] = [];
  /** May throw in place of an answer. */
  fault: ((request: string) => void) | undefined;
  isInstalled = true;
  readonly #objects = new Map<string, Stored>();
  readonly #changes = new Subject<{ readonly collection: string; readonly event: WatchEvent<ApiObject> }>();
  #version = 0;

  /** Writes the object, as another client does. */
  put(target: ObjectReference, object: object): void {
    const metadata = { name: target.name, uid: 'u', resourceVersion: String((this.#version += 1)) };
    this.#store(target, { ...object, metadata });
  }

  remove(target: ObjectReference): void {
    const object = this.at(target);
    this.#objects.delete(apiPath(target));
    if (object) this.#tell(target, { type: 'DELETED', object });
  }

  at(target: ObjectReference): Stored | undefined {
    return this.#objects.get(apiPath(target));
  }

  async isServed(resource: ApiResource): Promise<boolean> {
    await this.#asked(`discover ${resource}`);
    return this.isInstalled;
  }

  async get<T extends ApiObject>(target: ObjectReference): Promise<T> {
    await this.#asked(`get ${apiPath(target)}`);
    return this.#existing(target) as ApiObject as T;
  }

  async list<T extends ApiObject>(collection: Collection): Promise<ObjectList<T>> {
    const path = apiPath(collection);
    await this.#asked(`list ${path}`);
    const items = [...this.#objects]
      .filter(([key]) => key.startsWith(`${path}/`))
      .map(([, object]) => object);
    return { metadata: { resourceVersion: String(this.#version) }, items: items as ApiObject[] as T[] };
  }

  watch<T extends ApiObject>(collection: Collection) {
    const events = new Subject<WatchEvent<T>>();
    const path = apiPath(collection);
    this.#changes.subscribe(({ collection: of, event }) => {
      if (of === path) events.next(event as WatchEvent<T>);
    });
    return events;
  }

  async create<T extends ApiObject>(collection: Collection, object: T): Promise<T> {
    await this.#asked(`create ${apiPath(collection)}`);
    const name = object.metadata?.name ?? '';
    this.put({ ...collection, name }, object);
    return this.at({ ...collection, name }) as ApiObject as T;
  }

  async update<T extends ApiObject>(target: ObjectReference, object: T): Promise<T> {
    await this.#asked(`update ${apiPath(target)}`);
    if (object.metadata?.resourceVersion !== this.#existing(target).metadata.resourceVersion)
      throw refusal('Conflict');
    this.put(target, object);
    return this.at(target) as ApiObject as T;
  }

  patch(): Promise<never> {
    throw new ApiError('no such media type', { status: 415, reason: 'UnsupportedMediaType' });
  }

  delete(): Promise<void> {
    throw refusal('Forbidden');
  }

  async #asked(request: string): Promise<void> {
    await Promise.resolve();
    this.requests.push(request);
    this.fault?.(request);
  }

  #existing(target: ObjectReference): Stored {
    const object = this.at(target);
    if (object === undefined) throw refusal('NotFound');
    return object;
  }

  #store(target: ObjectReference, object: Stored): void {
    if (!isJsonObject(object)) throw new Error('no object');
    const type = this.#objects.has(apiPath(target)) ? 'MODIFIED' : 'ADDED';
    this.#objects.set(apiPath(target), object);
    this.#tell(target, { type, object });
  }

  #tell({ resource, namespace }: ObjectReference, event: WatchEvent<ApiObject>): void {
    this.#changes.next({
      collection: apiPath({ resource, ...(namespace !== undefined && { namespace }) }),
      event,
    });
  }
}
