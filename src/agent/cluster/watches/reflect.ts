/** Follows a set of objects of the API server: lists them, then watches what changes, as long as there is a subscriber. */
import { defer, NEVER, Observable, Subscription } from 'rxjs';
import { sleep, Timer } from '../../../system/timer.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorKind, errorMessage, StateletError } from '../../../types/errors.ts';
import { ApiError, isExpired, retryAfterMs } from '../service/api-error.ts';
import type { Collection } from '../service/api-resources.ts';
import type { ApiObject, ObjectList, ObjectReader, Selectors, WatchEvent } from '../service/api-server.ts';
import { isOlderVersion, ObjectStore, withoutManagedFields } from './object-store.ts';

/** The clock and random numbers. */
export interface WatchTiming extends Pick<AgentContext, 'clock' | 'random'> {
  /** Emits when the server answers again after it did not. Then a pause after a request without an answer ends. */
  readonly recovered?: Observable<unknown>;
}

/** The context of those that follow objects for pods. The recorder of events may need them itself. */
export type WatchContext = WatchTiming & Pick<AgentContext, 'logger'>;

export interface ReflectOptions<T extends ApiObject = ApiObject> extends Selectors, WatchTiming {
  /** The server ends a watch after this time or up to twice that, by chance. Default: 5 min. */
  readonly watchSecondsMin?: number;
  /** After this time the end of a watch is followed by a list, which finds missed events. Default: an hour. */
  readonly relistAfterMs?: number;
  /** What is kept of an object. Default: all but its managed fields. */
  readonly keep?: (object: T) => T;
  /** Keeps the objects, in place of `keep`: for those who hand on each change, and not the whole set. */
  readonly store?: Pick<ObjectStore<T>, 'objects' | 'replace' | 'apply' | 'has'>;
}

/** All that is known of the set at one time. */
export interface Reflection<T> {
  /** Undefined until the first list. An object that did not change is the same as in the reflection before. */
  readonly objects?: readonly T[];
  /** Why the objects may be out of date. They stay as they were last seen: silence does not mean that an object is gone. */
  readonly problem?: string;
}

const WATCH_SECONDS_MIN = 300;
const LIST_TIMEOUT_MS = 60_000;
const RELIST_AFTER_MS = 60 * 60_000;
/** A watch that the server should have ended this long ago is dead. */
const OVERDUE_MS = 30_000;
/** A watch that the server ends within this time and without an event has failed: else it would be begun in an endless loop. */
const SHORT_MS = 1_000;
/** Between two pauses that end early. */
const SHORTENED_AFTER_MS = 30_000;

/**
 * Emits the whole set after the first list and after each change, also when a problem comes or goes. Never fails, never
 * completes.
 */
export function reflect<T extends ApiObject>(
  api: ObjectReader,
  collection: Collection,
  options: ReflectOptions<T>,
): Observable<Reflection<T>> {
  return new Observable((subscriber) => {
    const stop = new AbortController();
    const emit = (reflection: Reflection<T>) => subscriber.next(reflection);
    const reflector = new Reflector(api, collection, { ...options, emit, signal: stop.signal });
    void reflector.run();
    return () => stop.abort();
  });
}

interface ReflectorOptions<T extends ApiObject> extends ReflectOptions<T> {
  readonly emit: (reflection: Reflection<T>) => void;
  readonly signal: AbortSignal;
}

/** What is to be done after a watch. */
type Next = 'watch' | 'list';

class Reflector<T extends ApiObject> {
  readonly #api: ObjectReader;
  readonly #collection: Collection;
  readonly #options: ReflectorOptions<T>;
  readonly #backOff: WatchBackOff;
  readonly #store: NonNullable<ReflectOptions<T>['store']>;
  /** Of the last list or event; undefined until the first list. */
  #version: string | undefined;
  #problem: string | undefined;
  /** Unix ms. */
  #listedAt = -Infinity;
  /** When a pause last ended early. Unix ms. */
  #shortenedAt = -Infinity;

  constructor(api: ObjectReader, collection: Collection, options: ReflectorOptions<T>) {
    this.#api = api;
    this.#collection = collection;
    this.#options = options;
    this.#store = options.store ?? new ObjectStore<T>(options.keep ?? withoutManagedFields);
    this.#backOff = new WatchBackOff(options);
  }

  /** Resolves when the signal aborts. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    let next: Next = 'list';
    while (!signal.aborted) next = next === 'list' ? await this.#list() : await this.#watch();
  }

  async #list(): Promise<Next> {
    const { signal } = this.#options;
    try {
      // Without a resourceVersion, and so the newest objects: an old list would bring back objects that are gone.
      const options = { ...this.#selectors(), signal, timeoutMs: LIST_TIMEOUT_MS };
      const list = checked(await this.#api.list<T>(this.#collection, options));
      this.#store.replace(list);
      this.#version = list.metadata.resourceVersion;
      this.#listedAt = this.#options.clock.now();
      this.#emit(undefined);
      return 'watch';
    } catch (error) {
      await this.#pause('list', error);
      return 'list';
    }
  }

  async #watch(): Promise<Next> {
    const { clock, relistAfterMs = RELIST_AFTER_MS } = this.#options;
    const begunAt = clock.now();
    const { events, error } = await this.#events();
    if (this.#options.signal.aborted) return 'watch';
    if (error === undefined && (events > 0 || clock.now() - begunAt >= SHORT_MS))
      return clock.now() - this.#listedAt < relistAfterMs ? 'watch' : 'list';
    // A watch that had worked was cut, which is no problem. One with wrong events may have missed some.
    if (isUnanswered(error) && errorKind(error) !== 'Internal' && events > 0) return 'watch';
    await this.#pause(
      'watch',
      error ?? new StateletError('Unavailable', 'the server ends each watch at once'),
    );
    // Any other failure can mean that events were missed, or that the server does not have earlier events any more.
    return error instanceof ApiError && error.status === 429 ? 'watch' : 'list';
  }

  /** Resolves at the end of the watch, with the number of its events, and with the error if it failed. */
  #events(): Promise<{ readonly events: number; readonly error?: unknown }> {
    const { signal, clock, random, watchSecondsMin = WATCH_SECONDS_MIN } = this.#options;
    const timeoutSeconds = Math.floor(watchSecondsMin * (1 + random()));
    const options = { ...this.#selectors(), resourceVersion: this.#version ?? '', timeoutSeconds };
    return new Promise((resolve) => {
      let events = 0;
      const watch = new Subscription();
      const end = (error?: unknown) => {
        watch.unsubscribe();
        resolve({ events, error });
      };
      const cancel = () => end();
      signal.addEventListener('abort', cancel, { once: true });
      watch.add(() => signal.removeEventListener('abort', cancel));
      const overdue = new Timer(clock);
      overdue.arm(timeoutSeconds * 1000 + OVERDUE_MS, cancel);
      watch.add(() => overdue.disarm());
      const next = (event: WatchEvent<T>) => {
        try {
          this.#take(event);
          events += 1;
        } catch (error) {
          end(error);
        }
      };
      const all = defer(() => this.#api.watch<T>(this.#collection, options));
      watch.add(all.subscribe({ next, error: end, complete: cancel }));
    });
  }

  #take(event: WatchEvent<T>): void {
    const version = event.object.metadata?.resourceVersion ?? this.#version;
    this.#checkOrder(event, version);
    // A deleted object may come with the version that it had before.
    if (!isOlderVersion(version, this.#version)) this.#version = version;
    const hasChanged = this.#store.apply(event);
    if (hasChanged || this.#problem !== undefined) this.#emit(undefined);
  }

  /** The event of an object that is not known, with an old version, comes too late: its DELETED event may have come before. */
  #checkOrder({ type, object }: WatchEvent<T>, version: string | undefined): void {
    if (type !== 'ADDED' && type !== 'MODIFIED') return;
    if (isOlderVersion(version, this.#version) && !this.#store.has(object))
      throw new StateletError('Internal', 'the events of the watch are not in their order');
  }

  async #pause(verb: 'list' | 'watch', error: unknown): Promise<void> {
    const { signal } = this.#options;
    if (signal.aborted) return;
    const problem = `cannot ${verb} ${this.#collection.resource}: ${errorMessage(error)}`;
    // That the version of a watch is too old is no problem: it only needs a list.
    if (!isExpired(error) && problem !== this.#problem) this.#emit(problem);
    const delayMs = this.#backOff.delayAfter(error);
    await this.#sleep(delayMs, isUnanswered(error));
  }

  /** `isShortened`: until the server answers again. Not each time: it may answer other requests and never this one. */
  async #sleep(delayMs: number, isShortened: boolean): Promise<void> {
    const { clock, signal, recovered = NEVER } = this.#options;
    const awake = new AbortController();
    const subscription = recovered.subscribe(() => {
      if (!isShortened || clock.now() - this.#shortenedAt < SHORTENED_AFTER_MS) return;
      this.#shortenedAt = clock.now();
      awake.abort();
    });
    // Both signals mean that the pause is over.
    await sleep(clock, delayMs, signal, awake.signal).catch(() => undefined);
    subscription.unsubscribe();
  }

  #emit(problem: string | undefined): void {
    this.#problem = problem;
    const { emit } = this.#options;
    const isListed = this.#version !== undefined;
    emit({ objects: isListed ? this.#store.objects : undefined, problem });
  }

  #selectors(): Selectors {
    const { fieldSelector, labelSelector } = this.#options;
    return {
      fieldSelector,
      labelSelector,
    };
  }
}

/** There was no answer, or it did not come to its end. */
function isUnanswered(error: unknown): boolean {
  return error !== undefined && !(error instanceof ApiError);
}

/** An answer of a proxy, for example, may be JSON and yet no list. It must not count as a list of nothing. */
function checked<T extends ApiObject>(list: Partial<ObjectList<T>> | undefined): ObjectList<T> {
  const { metadata, items } = list ?? {};
  if (!metadata?.resourceVersion || !Array.isArray(items))
    throw new StateletError(
      'Internal',
      'the answer is not a list of objects: is it the answer of an API server?',
    );
  return { metadata, items };
}

const FIRST_MS = 800;

const LIMIT_MS = 30_000;

/** After this time without a failure the next one counts as the first. */
const QUIET_MS = 120_000;

/** How long to wait after a failed list or watch: 0.8 s, doubled up to 30 s, and up to twice that by chance, as the kubelet waits. */
class WatchBackOff {
  readonly #timing: WatchTiming;
  #nextMs = FIRST_MS;
  #lastFailureAt = -Infinity;

  constructor(timing: WatchTiming) {
    this.#timing = timing;
  }

  /** The delay before the next try. A server that asks for a longer one by `Retry-After` gets it, up to five minutes. */
  delayAfter(error: unknown): number {
    const { clock, random } = this.#timing;
    if (clock.now() - this.#lastFailureAt > QUIET_MS) this.#nextMs = FIRST_MS;
    this.#lastFailureAt = clock.now();
    const delayMs = this.#nextMs * (1 + random());
    this.#nextMs = Math.min(LIMIT_MS, this.#nextMs * 2);
    return Math.max(delayMs, retryAfterMs(error));
  }
}
