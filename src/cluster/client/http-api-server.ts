/** The API server over HTTP. */
import { Observable, type Subscriber } from 'rxjs';
import { StateletError } from '../../types/errors.ts';
import { apiPath, type Collection, type ObjectReference } from '../service/api-resources.ts';
import type {
  ApiObject,
  ApiServer,
  DeleteOptions,
  ListOptions,
  ObjectList,
  RequestOptions,
  WatchEvent,
  WatchOptions,
} from '../service/api-server.ts';
import { deleteBody, listQuery, watchQuery, withKind } from './api-paths.ts';
import type { PooledAnswer } from './connection-pool.ts';
import { type Call, type Exchange, nameOf } from './exchange.ts';
import { bodyOf, parseObject, watchError } from './read-answer.ts';
import { WatchLines } from './watch-lines.ts';

const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
/** A watch that the server has not ended so long after the time that it was given is dead. */
const WATCH_SLACK_MS = 30_000;

type Told<T> = WatchEvent<T> | { readonly type: 'ERROR'; readonly object: unknown };

export class HttpApiServer implements ApiServer {
  readonly #exchange: Exchange;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  async get<T extends ApiObject>(target: ObjectReference, options?: RequestOptions): Promise<T> {
    return this.#exchange.send<T>({ method: 'GET', path: apiPath(target) }, options);
  }

  async list<T extends ApiObject>(collection: Collection, options: ListOptions = {}): Promise<ObjectList<T>> {
    const path = apiPath(collection) + listQuery(options);
    // Of no objects, Go may make `null`.
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
