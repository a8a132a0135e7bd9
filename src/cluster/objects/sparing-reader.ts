import { mergeMap, type Observable, Subject } from 'rxjs';
import type { Clock } from '../../types/clock.ts';
import type { Collection } from '../service/api-resources.ts';
import type {
  ApiObject,
  ListOptions,
  ObjectList,
  ObjectReader,
  WatchEvent,
  WatchOptions,
} from '../service/api-server.ts';
import { despiteForbidden } from './despite-forbidden.ts';

/** After an outage hundreds of objects are listed anew: other requests must not wait behind them. */
const LISTS_AT_ONCE = 16;

/** Reads objects that pods refer to: a few lists at a time, and again where the server does not know yet that they may be read. */
export class SparingReader implements ObjectReader {
  readonly #api: ObjectReader;
  readonly #clock: Clock;
  readonly #waiting = new Subject<() => Promise<void>>();

  constructor(api: ObjectReader, clock: Clock) {
    this.#api = api;
    this.#clock = clock;
    this.#waiting.pipe(mergeMap((request) => request(), LISTS_AT_ONCE)).subscribe();
  }

  list<T extends ApiObject>(collection: Collection, options: ListOptions = {}): Promise<ObjectList<T>> {
    const list = () => this.#inTurn(() => this.#api.list<T>(collection, options), options.signal);
    return despiteForbidden(this.#clock, list, options.signal);
  }

  watch<T extends ApiObject>(collection: Collection, options: WatchOptions): Observable<WatchEvent<T>> {
    return this.#api.watch<T>(collection, options);
  }

  #inTurn<T>(request: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#waiting.next(async () => {
      try {
        signal?.throwIfAborted();
        resolve(await request());
      } catch (error) {
        reject(error);
      }
    });
    return promise;
  }
}
