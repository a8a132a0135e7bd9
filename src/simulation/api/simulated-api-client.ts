/** One agent's connection to a simulated API server. */
import { Observable } from 'rxjs';
import { apiPath, type Collection, type ObjectReference } from '../../agent/cluster/service/api-resources.ts';
import type {
  ApiClients,
  ApiObject,
  ApiServer,
  ConnectionObserver,
  DeleteOptions,
  ListOptions,
  ObjectList,
  RequestOptions,
  WatchEvent,
  WatchOptions,
} from '../../agent/cluster/service/api-server.ts';
import { answerTo } from '../runtime/chance.ts';
import type { ApiOperations } from './api-operations.ts';
import { ApiRequest, type RequestDetails, type RequestHost } from './api-request.ts';
import type { NewObject } from './api-store.ts';
import { ApiWatch, type WatchHost } from './api-watch.ts';
import type { ApiVerb } from './node-rights.ts';

/** The parts that all connections of a server share. */
export interface ApiHost extends RequestHost, WatchHost {
  /** The requests and watches of all connections that are not over. */
  readonly requests: Set<ApiRequest<unknown>>;
  readonly watches: Set<ApiWatch>;
  /** In [0, 1), by the key. */
  random(key: string): number;
}

export interface ApiConnection {
  readonly id: number;
  readonly operations: ApiOperations;
  readonly observer: ConnectionObserver | undefined;
}

/** An old list lacks at most this many changes. */
const OLD_BY = 20;

export class SimulatedApiClient implements ApiServer {
  readonly id: number;
  readonly #server: ApiHost;
  readonly #connection: ApiConnection;
  /** By the key of a request, how many there were. */
  readonly #ordinals = new Map<string, number>();
  readonly #requests = new Set<ApiRequest<unknown>>();
  readonly #watches = new Set<ApiWatch>();
  #isCut = false;

  constructor(server: ApiHost, connection: ApiConnection) {
    this.#server = server;
    this.#connection = connection;
    this.id = connection.id;
  }

  /** All clients of the agent. */
  get clients(): ApiClients {
    return { main: this, events: this, heartbeats: this };
  }

  /** What it watches now. */
  get watched(): readonly string[] {
    return Array.from(this.#watches, ({ subject }) => subject);
  }

  /** The agent was killed: it gets no answers and no events any more. Some of its requests are still carried out. */
  cut(): void {
    this.#isCut = true;
    for (const request of [...this.#requests]) request.cut();
    for (const watch of [...this.#watches]) watch.stop();
  }

  get<T extends ApiObject>(target: ObjectReference, options?: RequestOptions): Promise<T> {
    return this.#request('get', target, options, ({ operations }) => operations.get(target));
  }

  list<T extends ApiObject>(collection: Collection, options: ListOptions = {}): Promise<ObjectList<T>> {
    const { fieldSelector, resourceVersion } = options;
    return this.#request('list', collection, options, ({ operations }, chance) =>
      operations.list(collection, fieldSelector, this.#listedVersion(resourceVersion, chance)),
    );
  }

  watch<T extends ApiObject>(collection: Collection, options: WatchOptions): Observable<WatchEvent<T>> {
    return new Observable<WatchEvent<ApiObject>>((subscriber) => {
      if (this.#isCut) return undefined;
      const { operations, observer } = this.#connection;
      const key = this.#nextKey('watch', `${apiPath(collection)}?${options.fieldSelector ?? ''}`);
      const watch = new ApiWatch(
        this.#server,
        {
          collection,
          options,
          observer,
          authorize: () => operations.authorize({ verb: 'watch', target: collection, ...options }),
          chance: (version) => this.#server.random(version === undefined ? key : `${key}/${String(version)}`),
          onOver: (one) => {
            this.#watches.delete(one);
            this.#server.watches.delete(one);
          },
        },
        subscriber,
      );
      this.#watches.add(watch);
      this.#server.watches.add(watch);
      watch.begin();
      return () => watch.stop();
    }) as Observable<WatchEvent<T>>;
  }

  create<T extends ApiObject>(collection: Collection, object: T, options?: RequestOptions): Promise<T> {
    return this.#request('create', collection, options, ({ operations }) =>
      isEviction(collection)
        ? operations.evict(collection, object)
        : operations.create(collection, object as T & NewObject),
    );
  }

  update<T extends ApiObject>(target: ObjectReference, object: T, options?: RequestOptions): Promise<T> {
    return this.#request('update', target, options, ({ operations }) =>
      operations.update(target, object as T & NewObject),
    );
  }

  patch<T extends ApiObject>(target: ObjectReference, patch: object, options?: RequestOptions): Promise<T> {
    return this.#request('patch', target, options, ({ operations }) => operations.patch(target, patch));
  }

  delete(target: ObjectReference, options: DeleteOptions = {}): Promise<void> {
    return this.#request('delete', target, options, ({ operations }) => operations.delete(target, options));
  }

  /** Undefined: the newest. A list that may be of any version is sometimes old. */
  #listedVersion(asked: string | undefined, chance: number): number | undefined {
    const { store, faults } = this.#server;
    if (asked === undefined || answerTo('lateness', chance) >= faults.oldList) return undefined;
    const oldest = Math.max(store.compacted, Number(asked));
    return Math.min(store.version, Math.max(oldest, store.version - Math.ceil(OLD_BY * chance)));
  }

  /** The answer is what the work returns: an object or a list of the kind that is asked for, or nothing. */
  #request<T>(
    verb: ApiVerb,
    target: Collection | ObjectReference,
    { signal, timeoutMs }: RequestOptions = {},
    work: (connection: ApiConnection, chance: number) => unknown,
  ): Promise<T> {
    if (this.#isCut) return new Promise(() => undefined);
    const chance = this.#server.random(this.#nextKey(verb, apiPath(target)));
    const details: RequestDetails<unknown> = {
      verb,
      target,
      connection: this.id,
      observer: this.#connection.observer,
      signal,
      timeoutMs,
      chance,
      work: () => work(this.#connection, chance),
      onOver: (one) => {
        this.#requests.delete(one);
        this.#server.requests.delete(one);
      },
    };
    const request = new ApiRequest<unknown>(this.#server, details);
    this.#requests.add(request);
    this.#server.requests.add(request);
    request.begin();
    return request.answer as Promise<T>;
  }

  #nextKey(verb: string, path: string): string {
    const key = `api/${String(this.id)}/${verb} ${path}`;
    const ordinal = (this.#ordinals.get(key) ?? 0) + 1;
    this.#ordinals.set(key, ordinal);
    return `${key}/${String(ordinal)}`;
  }
}

function isEviction(target: Collection): target is ObjectReference {
  return 'subresource' in target && target.subresource === 'eviction';
}
