import { StateletError } from '../../../types/errors.ts';
import type { ConfigMap, Secret } from '../../../types/kubernetes.ts';
import { apiPath, type ObjectReference } from '../service/api-resources.ts';

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

export type ConfigObject = ConfigMap | Secret;

export interface ConfigObjectReference extends ObjectReference {
  readonly resource: 'configmaps' | 'secrets';
  readonly namespace: string;
}

/** How the objects that pods refer to are read: one for each strategy of `configMapAndSecretChangeDetectionStrategy`. */
export interface ObjectSource {
  /** Another pod refers to the object. */
  referred(reference: ConfigObjectReference): void;
  /** No pod refers to the object any more. */
  forgotten(reference: ConfigObjectReference): void;
  /** Undefined where there is no such object. Rejects where the server does not say. */
  read(reference: ConfigObjectReference): Promise<ConfigObject | undefined>;
  close(): void;
}

/** No pod refers to the object: the node has no right to read it. */
export function notRegistered({ namespace, name }: ConfigObjectReference): StateletError {
  return new StateletError('FailedPrecondition', `object "${namespace}"/"${name}" not registered`);
}
