/** What a simulated API server stores: the objects, their versions, and the latest changes. */
import { Subject } from 'rxjs';
import type { ApiResource } from '../../agent/cluster/service/api-resources.ts';
import type { ApiObject } from '../../agent/cluster/service/api-server.ts';
import type { ObjectMeta } from '../../types/kubernetes.ts';

export interface StoredObject extends ApiObject {
  readonly metadata: ObjectMeta & {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
}

/** Who has changed an object: a client's number, or undefined for the cluster's controllers and users. */
export type Author = number | undefined;

export interface StoredChange<Resource extends string = ApiResource> {
  readonly version: number;
  readonly resource: Resource;
  readonly author: Author;
  /** Undefined for a new object. */
  readonly before: StoredObject | undefined;
  /** Undefined for an object that is gone. */
  readonly after: StoredObject | undefined;
}

export type NewObject = ApiObject & { readonly metadata: ObjectMeta & { readonly name: string } };

/** Events are forgotten after a time: here, the oldest of too many. */
const KEPT_EVENTS = 200;
/** About as many changes as a watch cache keeps. */
const KEPT_CHANGES = 1_000;

/** `Resource`: the names of the kinds of objects. A server for tests stores more kinds than a node asks for. */
export class ApiStore<Resource extends string = ApiResource> {
  /** Of every change, right after it. */
  readonly changes = new Subject<StoredChange<Resource>>();
  readonly #objects = new Map<Resource, Map<string, StoredObject>>();
  /** By the key of an object, how many objects have had that key. */
  readonly #incarnations = new Map<string, number>();
  /** Their versions have no gaps. */
  #log: StoredChange<Resource>[] = [];
  #version = 1;
  /** Changes up to this version are forgotten. */
  #compacted = 1;

  get version(): number {
    return this.#version;
  }

  get compacted(): number {
    return this.#compacted;
  }

  get(
    resource: Resource,
    { namespace, name }: { readonly namespace?: string | undefined; readonly name: string },
  ): StoredObject | undefined {
    return this.#objects.get(resource)?.get(keyOf(namespace, name));
  }

  list(resource: Resource): readonly StoredObject[] {
    return [...(this.#objects.get(resource)?.values() ?? [])];
  }

  /** The objects as they were at that version, which must not be forgotten. */
  listAt(resource: Resource, version: number): readonly StoredObject[] {
    const objects = new Map(this.#objects.get(resource));
    for (const change of this.changesSince(version).toReversed()) {
      if (change.resource !== resource) continue;
      const { before, after } = change;
      if (before !== undefined) objects.set(keyOfObject(before), before);
      else if (after !== undefined) objects.delete(keyOfObject(after));
    }
    return [...objects.values()];
  }

  /** Those after that version, which must not be forgotten. */
  changesSince(version: number): readonly StoredChange<Resource>[] {
    return this.#log.slice(Math.max(0, version - this.#compacted));
  }

  /** Stores a new object. `uid`: instead of one of the server's. */
  add(resource: Resource, object: NewObject, author: Author, uid?: string): StoredObject {
    const { name, namespace } = object.metadata;
    const key = `${resource}/${keyOf(namespace, name)}`;
    const incarnation = (this.#incarnations.get(key) ?? 0) + 1;
    if (resource !== 'events') this.#incarnations.set(key, incarnation);
    const metadata = {
      ...object.metadata,
      uid: uid ?? `${resource}-${name}-${String(incarnation)}`,
      resourceVersion: '',
    };
    if (resource === 'events') this.#forgetOldEvents();
    return this.#put(resource, undefined, { ...object, metadata }, author);
  }

  #forgetOldEvents(): void {
    const events = this.#objects.get('events' as Resource);
    const [oldest] = events?.keys() ?? [];
    if (events !== undefined && oldest !== undefined && events.size > KEPT_EVENTS) events.delete(oldest);
  }

  /** Stores another version of an object. */
  replace(resource: Resource, before: StoredObject, after: StoredObject, author: Author): StoredObject {
    return this.#put(resource, before, after, author);
  }

  remove(resource: Resource, object: StoredObject, author: Author): void {
    const version = this.#version + 1;
    // The last state of an object has the version of its removal.
    const metadata = { ...object.metadata, resourceVersion: String(version) };
    this.#objects.get(resource)?.delete(keyOfObject(object));
    this.#log.push({ version, resource, author, before: { ...object, metadata }, after: undefined });
    this.#changed();
  }

  /** Forgets all changes so far: a client that needs them must list anew. */
  compact(): void {
    this.#log = [];
    this.#compacted = this.#version;
  }

  #put(
    resource: Resource,
    before: StoredObject | undefined,
    after: StoredObject,
    author: Author,
  ): StoredObject {
    const version = this.#version + 1;
    const object = { ...after, metadata: { ...after.metadata, resourceVersion: String(version) } };
    const objects = this.#objects.get(resource) ?? new Map<string, StoredObject>();
    this.#objects.set(resource, objects.set(keyOfObject(object), object));
    this.#log.push({ version, resource, author, before, after: object });
    this.#changed();
    return object;
  }

  #changed(): void {
    this.#version += 1;
    if (this.#log.length > 2 * KEPT_CHANGES) {
      this.#log.splice(0, KEPT_CHANGES);
      this.#compacted += KEPT_CHANGES;
    }
    const change = this.#log.at(-1);
    if (change !== undefined) this.changes.next(change);
  }
}

const keyOf = (namespace: string | undefined, name: string): string => `${namespace ?? ''}/${name}`;

const keyOfObject = ({ metadata: { namespace, name } }: StoredObject): string => keyOf(namespace, name);
