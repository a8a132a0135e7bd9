/** The API server over HTTP. */
import { Observable, type Subscriber } from 'rxjs';
import { StateletError } from '../../../types/errors.ts';
import {
  apiPath,
  type ApiResource,
  type Collection,
  type ObjectReference,
  servedResource,
} from '../service/api-resources.ts';
import type {
  ApiDiscovery,
  ApiObject,
  ApiServer,
  DeleteOptions,
  ListOptions,
  ObjectList,
  RequestOptions,
  Selectors,
  WatchEvent,
  WatchOptions,
} from '../service/api-server.ts';
import { ApiError } from '../service/api-error.ts';
import type { PooledAnswer } from './connection-pool.ts';
import { type Call, type Exchange, nameOf } from './exchange.ts';
import { bodyOf, parseObject, tooLarge, watchError } from './read-answer.ts';

const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
/** A watch that the server has not ended so long after the time that it was given is dead. */
const WATCH_SLACK_MS = 30_000;

interface ResourceList {
  readonly resources?: readonly { readonly name: string }[];
}

type Told<T> = WatchEvent<T> | { readonly type: 'ERROR'; readonly object: unknown };

export class HttpApiServer implements ApiServer, ApiDiscovery {
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  async get<T extends ApiObject>(target: ObjectReference, options?: RequestOptions): Promise<T> {
    return this.#exchange.send<T>({ method: 'GET', path: apiPath(target) }, options);
  }

  async isServed(resource: ApiResource, options?: RequestOptions): Promise<boolean> {
    const { group, version } = servedResource(resource);
    const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    try {
      const { resources } = await this.#exchange.send<ResourceList>({ method: 'GET', path }, options);
      return resources?.some(({ name }) => name === resource) === true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return false;
      throw error;
    }
  }

  async list<T extends ApiObject>(collection: Collection, options: ListOptions = {}): Promise<ObjectList<T>> {
    const path = apiPath(collection) + listQuery(options);
    // Go may send `null` for an empty list.
    const list = await this.#exchange.send<Omit<ObjectList<T>, 'items'> & { items?: readonly T[] | null }>(
      { method: 'GET', path },
      options,
    );
    return { ...list, items: list.items ?? [] };
  }

  watch<T extends ApiObject>(collection: Collection, options: WatchOptions): Observable<WatchEvent<T>> {
    const call: Call = { method: 'GET', path: apiPath(collection) + watchQuery(options) };
    const timeoutMs = options.timeoutSeconds * 1000 + WATCH_SLACK_MS;
    return new Observable((subscriber) => {
      const stop = new AbortController();
      const read = (answer: PooledAnswer) => readEvents(call, answer, subscriber);
      this.#exchange.stream(call, { signal: stop.signal, timeoutMs }, read).then(
        () => subscriber.complete(),
        (error: unknown) => subscriber.error(error),
      );
      return () => stop.abort();
    });
  }

  async create<T extends ApiObject>(collection: Collection, object: T, options?: RequestOptions): Promise<T> {
    const body = withKind(collection.resource, object);
    return this.#exchange.send<T>({ method: 'POST', path: apiPath(collection), body }, options);
  }

  async update<T extends ApiObject>(
    target: ObjectReference,
    object: T,
    options?: RequestOptions,
  ): Promise<T> {
    const body = withKind(target.resource, object);
    return this.#exchange.send<T>({ method: 'PUT', path: apiPath(target), body }, options);
  }

  async patch<T extends ApiObject>(
    target: ObjectReference,
    patch: object,
    options?: RequestOptions,
  ): Promise<T> {
    const call = { path: apiPath(target), body: patch, contentType: STRATEGIC_MERGE_PATCH };
    return this.#exchange.send<T>({ method: 'PATCH', ...call }, options);
  }

  async delete(target: ObjectReference, options: DeleteOptions = {}): Promise<void> {
    const call: Call = { method: 'DELETE', path: apiPath(target), body: deleteBody(options) };
    await this.#exchange.send(call, options);
  }
}

/** Resolves when the server has ended the watch. It also ends, to be begun anew, when there are other credentials. */
async function readEvents<T>(
  call: Call,
  answer: PooledAnswer,
  subscriber: Subscriber<WatchEvent<T>>,
): Promise<void> {
  const { superseded } = answer;
  const body = bodyOf(answer);
  const end = () => body.destroy();
  superseded.addEventListener('abort', end, { once: true });
  const lines = new WatchLines();
  try {
    if (superseded.aborted) return;
    for await (const chunk of body) {
      for (const line of lines.take(chunk as Buffer)) {
        const event = parseObject(line) as Told<T>;
        if (event.type === 'ERROR') throw watchError(nameOf(call), event.object);
        subscriber.next(event);
      }
    }
  } catch (error) {
    if (!superseded.aborted) throw error;
  } finally {
    superseded.removeEventListener('abort', end);
    answer.body.destroy();
  }
  if (lines.isCut && !superseded.aborted)
    throw new StateletError('Unavailable', 'the watch ended within an event');
}

/** Many times the largest object that an API server takes. */
const LINE_BYTES_MAX = 16 * 1024 * 1024;

/** Splits the body of a watch into its lines, one event each. */
class WatchLines {
  #parts: Buffer[] = [];
  /** Of the parts. */
  #bytes = 0;

  /** The lines that are complete now. Throws where one is too long. */
  *take(chunk: Buffer): Generator<string> {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(0x0a, start);
      if (end === -1) break;
      this.#bytes = 0;
      this.#parts.push(chunk.subarray(start, end));
      const line = Buffer.concat(this.#parts).toString('utf8').trim();
      this.#parts = [];
      start = end + 1;
      if (line !== '') yield line;
    }
    if (start >= chunk.length) return;
    this.#parts.push(chunk.subarray(start));
    this.#bytes += chunk.length - start;
    if (this.#bytes > LINE_BYTES_MAX) throw tooLarge('an event of the watch', LINE_BYTES_MAX);
  }

  /** Whether the body has ended within an event. */
  get isCut(): boolean {
    return this.#parts.some((part) => part.toString('utf8').trim() !== '');
  }
}

/** `?fieldSelector=…`, empty if nothing is to be said. */
function listQuery({ resourceVersion, ...selectors }: ListOptions): string {
  return query({ ...selected(selectors), resourceVersion });
}

function watchQuery({ resourceVersion, timeoutSeconds, ...selectors }: WatchOptions): string {
  return query({
    ...selected(selectors),
    watch: 'true',
    allowWatchBookmarks: 'true',
    resourceVersion,
    timeoutSeconds: String(timeoutSeconds),
  });
}

/** An object as it is sent: the server requires its kind. */
function withKind(resource: ApiResource, object: ApiObject): object {
  const { group, version, kind } = servedResource(resource);
  return { apiVersion: group === '' ? version : `${group}/${version}`, kind, ...object };
}

function deleteBody({ gracePeriodSeconds, uid }: DeleteOptions): object {
  return {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    gracePeriodSeconds,
    preconditions: uid === undefined ? undefined : { uid },
  };
}

function selected({ fieldSelector, labelSelector }: Selectors): Record<string, string | undefined> {
  return { fieldSelector, labelSelector };
}

function query(values: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined) as [string, string][];
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}
