/** One watch at the API server for many readers: each gets only its own objects, as by a watch of its own. */
import { Observable, type Subscriber, type Subscription } from 'rxjs';
import { ApiError } from '../../agent/cluster/service/api-error.ts';
import type {
  ApiObject,
  ObjectList,
  WatchEvent,
  WatchOptions,
} from '../../agent/cluster/service/api-server.ts';
import { isOlderVersion, keyOf, withoutManagedFields } from '../../agent/cluster/watches/object-store.ts';
import type { Reflection } from '../../agent/cluster/watches/reflect.ts';
import { StateletError } from '../../types/errors.ts';

export interface SharedCollectionOptions<T extends ApiObject> {
  /** Begins the watch at the server, which puts what it finds into the store. */
  readonly open: (store: SharedCollection<T>) => Observable<Reflection<T>>;
  /** The reader of the object; undefined: it has none, and is not kept. */
  readonly readerOf: (object: T) => string | undefined;
}

interface Part<T> {
  /** By namespace and name. */
  readonly objects: Map<string, T>;
  readonly readers: Set<Subscriber<WatchEvent<T>>>;
  /** The version of the last removal: a watch from before it would miss that. */
  removedAt: string | undefined;
}

export class SharedCollection<T extends ApiObject> {
  readonly #readerOf: SharedCollectionOptions<T>['readerOf'];
  readonly #parts = new Map<string, Part<T>>();
  readonly #listed = Promise.withResolvers<undefined>();
  readonly #watch: Subscription;
  #version = '';

  constructor({ open, readerOf }: SharedCollectionOptions<T>) {
    this.#readerOf = readerOf;
    this.#watch = open(this).subscribe();
  }

  /** Not used: no reader needs the whole set. */
  get objects(): readonly T[] {
    return [];
  }

  /** How many readers watch now. */
  get readers(): number {
    let count = 0;
    for (const { readers } of this.#parts.values()) count += readers.size;
    return count;
  }

  /** The objects of that reader, as soon as the server has listed any. */
  async list(reader: string): Promise<ObjectList<T>> {
    await this.#listed.promise;
    const items = [...this.#part(reader).objects.values()];
    return { metadata: { resourceVersion: this.#version }, items };
  }

  watch(
    reader: string,
    { resourceVersion }: Pick<WatchOptions, 'resourceVersion'>,
  ): Observable<WatchEvent<T>> {
    return new Observable((subscriber) => {
      const part = this.#part(reader);
      const { removedAt, objects, readers } = part;
      if (isOlderVersion(resourceVersion, removedAt)) {
        subscriber.error(new ApiError('the version is too old', { status: 410, reason: 'Expired' }));
        return undefined;
      }
      for (const object of objects.values())
        if (isOlderVersion(resourceVersion, object.metadata?.resourceVersion))
          subscriber.next({ type: 'MODIFIED', object });
      readers.add(subscriber);
      return () => readers.delete(subscriber);
    });
  }

  /** The server has listed all objects. */
  replace({ metadata: { resourceVersion }, items }: ObjectList<T>): void {
    this.#version = resourceVersion;
    const listed = new Set(items.map(keyOf));
    for (const part of this.#parts.values())
      for (const [key, object] of part.objects) if (!listed.has(key)) this.#remove(part, key, object);
    for (const object of items) this.#set(object);
    this.#listed.resolve(undefined);
  }

  /** An event of the watch. */
  apply({ type, object }: WatchEvent<T>): boolean {
    const { resourceVersion } = object.metadata ?? {};
    if (resourceVersion !== undefined && !isOlderVersion(resourceVersion, this.#version))
      this.#version = resourceVersion;
    if (type === 'BOOKMARK') return false;
    if (type !== 'DELETED') return this.#set(object);
    const part = this.#partOf(object);
    const key = keyOf(object);
    const known = part?.objects.get(key);
    if (part === undefined || known?.metadata?.uid !== object.metadata?.uid) return false;
    this.#remove(part, key, object);
    return true;
  }

  has(object: T): boolean {
    return this.#partOf(object)?.objects.has(keyOf(object)) ?? false;
  }

  close(): void {
    this.#watch.unsubscribe();
    this.#listed.reject(new StateletError('Canceled', 'the watch has ended'));
    this.#listed.promise.catch(() => undefined);
  }

  #set(object: T): boolean {
    const part = this.#partOf(object);
    const key = keyOf(object);
    const known = part?.objects.get(key);
    const version = object.metadata?.resourceVersion;
    if (part === undefined || (known && !isOlderVersion(known.metadata?.resourceVersion, version)))
      return false;
    const kept = withoutManagedFields(object);
    part.objects.set(key, kept);
    const type = known === undefined ? 'ADDED' : 'MODIFIED';
    for (const reader of part.readers) reader.next({ type, object: kept });
    return true;
  }

  #remove(part: Part<T>, key: string, object: T): void {
    part.objects.delete(key);
    part.removedAt = this.#version;
    for (const reader of part.readers) reader.next({ type: 'DELETED', object });
  }

  #partOf(object: T): Part<T> | undefined {
    const reader = this.#readerOf(object);
    return reader === undefined ? undefined : this.#part(reader);
  }

  #part(reader: string): Part<T> {
    let part = this.#parts.get(reader);
    if (part === undefined) {
      part = { objects: new Map(), readers: new Set(), removedAt: undefined };
      this.#parts.set(reader, part);
    }
    return part;
  }
}
