import { mergeMap, Observable, Subject, switchMap } from 'rxjs';
import { Timer } from '../../../system/timer.ts';
import type { Clock } from '../../../types/clock.ts';
import { apiPath, type Collection } from '../service/api-resources.ts';
import type {
  ApiObject,
  ListOptions,
  ObjectList,
  ObjectReader,
  WatchEvent,
  WatchOptions,
} from '../service/api-server.ts';
import type { WatchContext, WatchTiming } from '../watches/reflect.ts';
import { retryWhileForbidden } from './fetched-objects.ts';
import {
  type ConfigObject,
  type ConfigObjectReference,
  notRegistered,
  type ObjectSource,
} from './object-references.ts';
import { ObjectWatch } from './object-watch.ts';

const UNREAD_CHECK_MS = 60_000;
/** After an outage, the watches of all nodes begin anew within this time, not at the same moment. */
const RECOVERY_SPREAD_MS = 10_000;

/** The strategy `Watch`: a watch of each object while pods refer to it, which all of them share. */
export class WatchedObjects implements ObjectSource {
  readonly #context: WatchContext;
  readonly #unreadMs: number;
  readonly #onChange: (reference: ConfigObjectReference) => void;
  readonly #api: ThrottledReader;
  readonly #watches = new Map<string, ObjectWatch>();
  readonly #unreadCheck: Timer;

  /**
   * The watch of an object that is not read for `unreadMs` ends. `onChange`: the object is not as it was when it was last read.
   */
  constructor(
    context: WatchContext,
    api: ObjectReader,
    unreadMs: number,
    onChange: (reference: ConfigObjectReference) => void,
  ) {
    const { clock, recovered } = context;
    this.#context = { ...context, recovered: recovered?.pipe(switchMap(() => spread(context))) };
    this.#unreadMs = unreadMs;
    this.#onChange = onChange;
    this.#api = new ThrottledReader(api, clock);
    this.#unreadCheck = new Timer(clock);
  }

  referred(reference: ConfigObjectReference): void {
    const key = apiPath(reference);
    if (this.#watches.has(key)) return;
    const onChange = () => this.#onChange(reference);
    this.#watches.set(key, new ObjectWatch(this.#context, this.#api, reference, onChange));
    if (!this.#unreadCheck.isArmed) this.#armUnreadCheck();
  }

  forgotten(reference: ConfigObjectReference): void {
    const key = apiPath(reference);
    this.#watches.get(key)?.stop();
    this.#watches.delete(key);
    if (this.#watches.size === 0) this.#unreadCheck.disarm();
  }

  async read(reference: ConfigObjectReference): Promise<ConfigObject | undefined> {
    const watch = this.#watches.get(apiPath(reference));
    if (watch === undefined) throw notRegistered(reference);
    return watch.read();
  }

  close(): void {
    this.#unreadCheck.disarm();
    for (const watch of this.#watches.values()) watch.stop();
    this.#watches.clear();
  }

  #armUnreadCheck(): void {
    this.#unreadCheck.arm(UNREAD_CHECK_MS, () => {
      this.#armUnreadCheck();
      for (const watch of this.#watches.values()) watch.stopIfUnread(this.#unreadMs);
    });
  }
}

/** Emits once, after a random time. */
function spread({ clock, random }: WatchTiming): Observable<undefined> {
  return new Observable((subscriber) => {
    const timer = clock.setTimeout(() => subscriber.next(undefined), random() * RECOVERY_SPREAD_MS);
    return () => clock.clearTimeout(timer);
  });
}

/** After an outage hundreds of objects are listed anew. Other requests must not wait for all of these lists. */
const LISTS_AT_ONCE = 16;

/** Lists at most sixteen objects at a time, and repeats a list that is forbidden: the server may not know yet that the node may read it. */
class ThrottledReader implements ObjectReader {
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
    return retryWhileForbidden(this.#clock, list, options.signal);
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
