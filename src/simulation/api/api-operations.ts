/** Carries out requests at a simulated API server: for a node by its rights, for the cluster's users and controllers without limits. */
import type { Collection, ObjectReference } from '../../agent/cluster/service/api-resources.ts';
import type { DeleteOptions, ObjectList } from '../../agent/cluster/service/api-server.ts';
import { equalJson } from '../../agent/policies/formats/canonical-json.ts';
import { rfc3339 } from '../../agent/policies/formats/time.ts';
import type { ConfigMap, Pod } from '../../types/kubernetes.ts';
import type { ApiStore, Author, NewObject, StoredObject } from './api-store.ts';
import { matches } from './field-selectors.ts';
import { applyMergePatch, type JsonObject } from './merge-patch.ts';
import type { Attempt, NodeRights } from './node-rights.ts';
import { deletedPod, newPod, withDisruption, withGeneration, podWithStatus } from './served-pod-rules.ts';
import {
  alreadyExists,
  disruptionBudget,
  expired,
  forbidden,
  invalid,
  modified,
  notFound,
  otherUID,
} from './refusals.ts';

export interface ApiOperationsOptions {
  readonly store: ApiStore;
  readonly now: () => number;
  /** Undefined for a user who may do everything. */
  readonly rights?: NodeRights;
  readonly author: Author;
  /** Whether a disruption budget keeps the pod for now. */
  readonly isGuarded?: ((pod: Pod) => boolean) | undefined;
}

interface EvictionOptions {
  readonly gracePeriodSeconds?: number;
  readonly preconditions?: { readonly uid?: string };
}

export class ApiOperations {
  readonly #options: ApiOperationsOptions;

  constructor(options: ApiOperationsOptions) {
    this.#options = options;
  }

  get(target: ObjectReference): StoredObject {
    this.authorize({ verb: 'get', target });
    return this.#found(target);
  }

  /** `version`: of an older state of the objects. */
  list(collection: Collection, fieldSelector?: string, version?: number): ObjectList<StoredObject> {
    this.authorize({ verb: 'list', target: collection, fieldSelector });
    const { store } = this.#options;
    const { resource, namespace } = collection;
    if (version !== undefined && version < store.compacted) throw expired(version, store.compacted);
    const all = version === undefined ? store.list(resource) : store.listAt(resource, version);
    const items = all.filter(
      (object) =>
        (namespace === undefined || object.metadata.namespace === namespace) &&
        matches(object, fieldSelector),
    );
    return { metadata: { resourceVersion: String(version ?? store.version) }, items };
  }

  /** `uid`: instead of one of the server's. */
  create(collection: Collection, object: NewObject & { readonly spec?: object }, uid?: string): StoredObject {
    const { resource, namespace } = collection;
    const { store, author, now } = this.#options;
    const { name } = object.metadata;
    const target = { ...collection, name };
    this.authorize({ verb: 'create', target: collection });
    const creationTimestamp = rfc3339(now());
    const metadata = { ...object.metadata, ...(namespace !== undefined && { namespace }), creationTimestamp };
    const made = this.#madeNew(target, { ...object, metadata });
    if (store.get(resource, target) !== undefined) throw alreadyExists(target);
    return store.add(resource, made, author, uid);
  }

  update(target: ObjectReference, object: NewObject): StoredObject {
    this.authorize({ verb: 'update', target });
    const before = this.#found(target);
    const { resourceVersion, uid } = object.metadata;
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      throw modified(target);
    if (uid !== undefined && uid !== before.metadata.uid) throw otherUID(target, uid, before.metadata.uid);
    return this.#stored(target, before, object);
  }

  patch(target: ObjectReference, patch: object): StoredObject {
    this.authorize({ verb: 'patch', target });
    const before = this.#found(target);
    const patched = applyMergePatch(before as unknown as JsonObject, patch as JsonObject);
    const { uid, resourceVersion } = (patched as unknown as StoredObject).metadata;
    if (uid !== before.metadata.uid) throw invalid(target, 'metadata.uid', 'field is immutable');
    if (resourceVersion !== before.metadata.resourceVersion) throw modified(target);
    return this.#stored(target, before, patched as unknown as StoredObject);
  }

  delete(target: ObjectReference, { gracePeriodSeconds, uid }: DeleteOptions = {}): void {
    this.authorize({ verb: 'delete', target });
    const { store, author, rights, now } = this.#options;
    const { resource } = target;
    const before = this.#found(target);
    const why = resource === 'pods' ? rights?.whyNotChanged(before as Pod & StoredObject) : undefined;
    if (why !== undefined) throw forbidden(target, why);
    if (uid !== undefined && uid !== before.metadata.uid) throw otherUID(target, uid, before.metadata.uid);
    const left = this.#leftBy(before, target, { graceSeconds: gracePeriodSeconds, now: now() });
    if (left === undefined) store.remove(resource, before, author);
    else if (!equalJson(left, before)) store.replace(resource, before, left, author);
  }

  /** `policy/v1`. A disruption budget does not keep pods that do not run yet, or not any more. */
  evict(target: ObjectReference, eviction: object): void {
    const { deleteOptions = {} } = eviction as { readonly deleteOptions?: EvictionOptions };
    const { gracePeriodSeconds, preconditions } = deleteOptions;
    const { resource, name, namespace = '' } = target;
    const pod: ObjectReference = { resource, namespace, name };
    this.authorize({ verb: 'create', target });
    const before = this.#found(pod) as Pod & StoredObject;
    this.#refuse(target, this.#options.rights?.whyNotChanged(before));
    const uid = preconditions?.uid;
    if (uid !== undefined && uid !== before.metadata.uid) throw otherUID(target, uid, before.metadata.uid);
    const isRunning = before.status?.phase === 'Running' && before.metadata.deletionTimestamp === undefined;
    if (isRunning && this.#options.isGuarded?.(before) === true) throw disruptionBudget();
    const { store, author, now } = this.#options;
    const disrupted = withDisruption(before, rfc3339(now()));
    if (disrupted !== before) store.replace('pods', before, disrupted, author);
    this.delete(pod, { ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }) });
  }

  /** Throws the server's answer to a request that it refuses before it reads anything. */
  authorize(attempt: Attempt): void {
    const why = this.#options.rights?.whyRefused(attempt);
    if (why !== undefined) throw forbidden(attempt.target, why);
  }

  /** The object as a deletion leaves it for now; undefined: it is gone. */
  #leftBy(
    before: StoredObject,
    { resource }: ObjectReference,
    deletion: { readonly graceSeconds: number | undefined; readonly now: number },
  ): StoredObject | undefined {
    const left = resource === 'pods' ? deletedPod(before as Pod & StoredObject, deletion) : undefined;
    if (left !== undefined || (before.metadata.finalizers ?? []).length === 0) return left;
    const { deletionTimestamp = rfc3339(deletion.now) } = before.metadata;
    return { ...before, metadata: { ...before.metadata, deletionTimestamp, deletionGracePeriodSeconds: 0 } };
  }

  #madeNew(target: ObjectReference, object: NewObject): NewObject {
    const { rights } = this.#options;
    const { resource } = target;
    if (resource !== 'pods' && resource !== 'nodes') return object;
    const why =
      resource === 'pods'
        ? rights?.whyNotCreated(object as Pod)
        : (this.#whyOtherNode(target) ?? rights?.whyNoSuchNode(undefined, object));
    if (why !== undefined) throw forbidden(target, why);
    return resource === 'pods' ? newPod(object as Pod) : object;
  }

  /** The name of a new node is known only from the object. */
  #whyOtherNode(target: ObjectReference): string | undefined {
    return this.#options.rights?.whyRefused({ verb: 'patch', target });
  }

  /** Stores a changed object, by the rules of its kind. Stores nothing if nothing has changed. */
  #stored(target: ObjectReference, before: StoredObject, sent: NewObject): StoredObject {
    const { store, author } = this.#options;
    const { resource } = target;
    const after = this.#changed(target, before, {
      ...sent,
      metadata: { ...sent.metadata, ...fixed(before) },
    });
    if (equalJson(before, after)) return before;
    if (isFinallyDeleted(after)) {
      store.remove(resource, before, author);
      return after;
    }
    return store.replace(resource, before, after, author);
  }

  #changed(target: ObjectReference, before: StoredObject, sent: StoredObject): StoredObject {
    const { rights } = this.#options;
    const { resource, subresource } = target;
    if (resource === 'pods') {
      const pod = before as Pod & StoredObject;
      if (subresource === undefined)
        return withGeneration(pod, { ...(sent as typeof pod), ...only(pod, 'status') });
      const after = this.#withStatus(target, pod, sent);
      this.#refuse(target, rights?.whyNotChanged(pod, after));
      return after;
    }
    if (resource === 'configmaps' || resource === 'secrets') this.#keepImmutable(target, before, sent);
    if (resource !== 'nodes') return sent;
    this.#refuse(target, rights?.whyNoSuchNode(before, sent));
    return { ...sent, ...only(before, subresource === undefined ? 'status' : 'spec') };
  }

  #keepImmutable(
    target: ObjectReference,
    before: StoredObject & ConfigMap,
    sent: StoredObject & ConfigMap,
  ): void {
    if (before.immutable !== true) return;
    const changed = (['immutable', 'data', 'binaryData'] as const).find(
      (field) => !equalJson(before[field] ?? {}, sent[field] ?? {}),
    );
    const why = 'Forbidden: field is immutable when `immutable` is set';
    if (changed !== undefined) throw invalid(target, changed, why);
  }

  #refuse(target: ObjectReference, why: string | undefined): void {
    if (why !== undefined) throw forbidden(target, why);
  }

  /** Takes only the status, the labels and the annotations of the sent object. */
  #withStatus<T extends Pod & StoredObject>(target: ObjectReference, before: T, sent: StoredObject): T {
    const { status = {} } = sent as T;
    const changed = podWithStatus(before, status);
    if ('why' in changed) throw invalid(target, changed.field, changed.why);
    const { labels, annotations } = sent.metadata;
    return { ...changed, metadata: { ...before.metadata, labels, annotations } };
  }

  #found(target: ObjectReference): StoredObject {
    const found = this.#options.store.get(target.resource, target);
    if (found === undefined) throw notFound(target);
    return found;
  }
}

/** The fields that no update of an object changes. */
function fixed({ metadata }: StoredObject) {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return {
    name,
    uid,
    resourceVersion,
    ...(namespace !== undefined && { namespace }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
  };
}

function only(object: StoredObject, member: 'spec' | 'status'): object {
  return { [member]: (object as unknown as JsonObject)[member] };
}

/** It was deleted before, and the last finalizer is gone now. */
function isFinallyDeleted({ metadata }: StoredObject): boolean {
  const { deletionGracePeriodSeconds, finalizers = [] } = metadata;
  return deletionGracePeriodSeconds === 0 && finalizers.length === 0;
}
