import { referencedObjects } from '../../policies/cri/env-objects.ts';
import { StateletError } from '../../../types/errors.ts';
import type { ConfigMap, Pod, Secret } from '../../../types/kubernetes.ts';
import { apiPath, type ObjectReference } from '../service/api-resources.ts';

/** What is different from before. */
export interface ReferenceChanges<Reference> {
  readonly referred: readonly Reference[];
  /** These are no longer referred to by any pod. */
  readonly forgotten: readonly Reference[];
}

type References<Reference> = ReadonlyMap<string, Reference>;

const NONE: References<never> = new Map<string, never>();

/** Which pods refer to which objects. */
export class ObjectReferences<Reference extends ObjectReference> {
  readonly #ofPod = new Map<string, References<Reference>>();
  readonly #podsOf = new Map<string, Set<string>>();

  get pods(): Iterable<string> {
    return this.#ofPod.keys();
  }

  podsOf(reference: ObjectReference): Iterable<string> {
    return this.#podsOf.get(apiPath(reference)) ?? [];
  }

  /** The pod refers to these objects and to no others. */
  set(uid: string, references: readonly Reference[]): ReferenceChanges<Reference> {
    const before = this.#ofPod.get(uid) ?? NONE;
    const now = new Map(references.map((reference) => [apiPath(reference), reference]));
    this.#ofPod.set(uid, now);
    const added = missingIn(before, now);
    for (const [key] of added) this.#pods(key).add(uid);
    return { referred: valuesOf(added), forgotten: this.#drop(uid, missingIn(now, before)) };
  }

  /** The pod refers to nothing any more. */
  delete(uid: string): ReferenceChanges<Reference> {
    const before = this.#ofPod.get(uid) ?? NONE;
    this.#ofPod.delete(uid);
    return { referred: [], forgotten: this.#drop(uid, [...before]) };
  }

  #pods(key: string): Set<string> {
    const pods = this.#podsOf.get(key) ?? new Set();
    this.#podsOf.set(key, pods);
    return pods;
  }

  #drop(uid: string, references: readonly (readonly [string, Reference])[]): Reference[] {
    return valuesOf(
      references.filter(([key]) => {
        const pods = this.#pods(key);
        pods.delete(uid);
        return pods.size === 0 && this.#podsOf.delete(key);
      }),
    );
  }
}

function missingIn<R>(some: References<R>, others: References<R>): (readonly [string, R])[] {
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

/** The ConfigMaps and Secrets that the pod refers to. */
export function configReferences(pod: Pod): readonly ConfigObjectReference[] {
  const { namespace } = pod.metadata;
  const { configMaps, secrets } = referencedObjects(pod);
  return [
    ...Array.from(configMaps, (name) => ({ resource: 'configmaps', namespace, name }) as const),
    ...Array.from(secrets, (name) => ({ resource: 'secrets', namespace, name }) as const),
  ];
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
