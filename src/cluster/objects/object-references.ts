import { apiPath } from '../service/api-resources.ts';
import type { ConfigObjectReference } from './object-source.ts';

/** What is different from before. */
export interface ReferenceChanges {
  readonly referred: readonly ConfigObjectReference[];
  /** These are no longer referred to by any pod. */
  readonly forgotten: readonly ConfigObjectReference[];
}

type References = ReadonlyMap<string, ConfigObjectReference>;

const NONE: References = new Map();

/** Which pods refer to which objects. */
export class ObjectReferences {
  readonly #ofPod = new Map<string, References>();
  readonly #podsOf = new Map<string, Set<string>>();

  get pods(): Iterable<string> {
    return this.#ofPod.keys();
  }

  podsOf(reference: ConfigObjectReference): Iterable<string> {
    return this.#podsOf.get(apiPath(reference)) ?? [];
  }

  /** The pod refers to these objects and to no others. */
  set(uid: string, references: readonly ConfigObjectReference[]): ReferenceChanges {
    const before = this.#ofPod.get(uid) ?? NONE;
    const now = new Map(references.map((reference) => [apiPath(reference), reference]));
    this.#ofPod.set(uid, now);
    const added = missingIn(before, now);
    for (const [key] of added) this.#pods(key).add(uid);
    return { referred: valuesOf(added), forgotten: this.#drop(uid, missingIn(now, before)) };
  }

  /** The pod refers to nothing any more. */
  delete(uid: string): ReferenceChanges {
    const before = this.#ofPod.get(uid) ?? NONE;
    this.#ofPod.delete(uid);
    return { referred: [], forgotten: this.#drop(uid, [...before]) };
  }

  #pods(key: string): Set<string> {
    const pods = this.#podsOf.get(key) ?? new Set();
    this.#podsOf.set(key, pods);
    return pods;
  }

  #drop(
    uid: string,
    references: readonly (readonly [string, ConfigObjectReference])[],
  ): ConfigObjectReference[] {
    return valuesOf(
      references.filter(([key]) => {
        const pods = this.#pods(key);
        pods.delete(uid);
        return pods.size === 0 && this.#podsOf.delete(key);
      }),
    );
  }
}

function missingIn(some: References, others: References): (readonly [string, ConfigObjectReference])[] {
  return [...others].filter(([key]) => !some.has(key));
}

function valuesOf<T>(entries: readonly (readonly [string, T])[]): T[] {
  return entries.map(([, value]) => value);
}
