import type { ApiObject, ObjectList, WatchEvent } from '../service/api-server.ts';

/** What a list and the events after it say is there. */
export class ObjectStore<T extends ApiObject> {
  /** By namespace and name. */
  #objects = new Map<string, T>();
  readonly #keep: (object: T) => T;

  /** `keep`: what is kept of an object. */
  constructor(keep: (object: T) => T) {
    this.#keep = keep;
  }

  get objects(): readonly T[] {
    return [...this.#objects.values()];
  }

  replace({ items }: ObjectList<T>): void {
    this.#objects = new Map(items.map((object) => [keyOf(object), this.#keep(object)]));
  }

  /** Whether the event changed anything. */
  apply({ type, object }: WatchEvent<T>): boolean {
    if (type === 'BOOKMARK') return false;
    const key = keyOf(object);
    return type === 'DELETED' ? this.#delete(key, object) : this.#set(key, object);
  }

  /** Whether there is an object of that namespace and name. */
  has(object: T): boolean {
    return this.#objects.has(keyOf(object));
  }

  /** A watch that goes on from an earlier version repeats what is known already: no object goes back. */
  #set(key: string, object: T): boolean {
    const known = this.#objects.get(key);
    const isRepeated = isOlderVersion(object.metadata?.resourceVersion, known?.metadata?.resourceVersion);
    if (!isRepeated) this.#objects.set(key, this.#keep(object));
    return !isRepeated;
  }

  /** An object of the same name with another UID stays: it was made after the one that is gone. */
  #delete(key: string, { metadata }: T): boolean {
    const known = this.#objects.get(key);
    return known?.metadata?.uid === metadata?.uid && this.#objects.delete(key);
  }
}

export function keyOf({ metadata }: ApiObject): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
}

/** Who set which field matters to no reader here, and it is often the larger part of an object. */
export function withoutManagedFields<T extends ApiObject>(object: T): T {
  if (object.metadata?.managedFields === undefined) return object;
  return { ...object, metadata: { ...object.metadata, managedFields: undefined } };
}

/** Whether the first version of an object is older than the second. Versions are numbers; of others nothing is known. */
export function isOlderVersion(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined || !isNumber(one) || !isNumber(other)) return false;
  // Longer than a number of JavaScript may be.
  return BigInt(one) < BigInt(other);
}

function isNumber(version: string): boolean {
  return /^\d+$/.test(version);
}
