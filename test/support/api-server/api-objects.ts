/** Reads, creates, changes and deletes the objects of the double, by the rules of a real API server. */
import { randomInt, randomUUID } from 'node:crypto';
import { equalJson, without } from '../../../src/agent/policies/formats/canonical-json.ts';
import { rfc3339 } from '../../../src/agent/policies/formats/time.ts';
import type { NewObject } from '../../../src/simulation/api/api-store.ts';
import { deletedPod, newPod } from '../../../src/simulation/api/served-pod-rules.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { admitPod, taintNewNode } from './admission.ts';
import type { AnyObject, Draft, Store, User } from './context.ts';
import { restrictChange, restrictCreation, restrictDeletion } from './node-restriction.ts';
import { viewed } from './event-views.ts';
import { prepareNew, setDefaults } from './object-defaults.ts';
import { changedObject } from './object-rules.ts';
import { entriesIn, type ManagedFieldsEntry, sameManagers, withoutManaged } from './fields/managed-fields.ts';
import { gated } from './new-pods.ts';
import { checkChange, checkNew, checkUID } from './object-checks.ts';
import { apiVersionOf, type ServedType, storeKey, typeOf } from './served-types.ts';
import { alreadyExists, forbidden, invalid, notFound, otherUID, otherVersion } from './status-error.ts';

export interface ObjectsOptions {
  readonly store: Store;
  readonly now: () => number;
  readonly serviceAccounts: boolean;
}

export interface Target {
  readonly type: ServedType;
  readonly namespace: string | undefined;
  readonly name: string;
}

export interface WriteOptions {
  readonly user: User;
  readonly dryRun?: boolean;
  readonly subresource?: string;
  /** The managers of the fields of the object `next`. Default: as before. */
  readonly managers?: (live: AnyObject | undefined, next: Draft) => readonly ManagedFieldsEntry[] | undefined;
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: string;
  /** The older option. */
  readonly orphanDependents?: boolean;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

const SUFFIX_LETTERS = 'bcdfghjklmnpqrstvwxz2456789';
const SUFFIX_LENGTH = 5;
/** Kinds whose generation counts the changes of the spec. */
const GENERATED = new Set([
  'Deployment',
  'DaemonSet',
  'ReplicaSet',
  'StatefulSet',
  'Job',
  'CronJob',
  'PodDisruptionBudget',
  'PriorityClass',
]);
/** Kinds that an update creates if there are none. */
const CREATED_BY_UPDATE = new Set([
  ...[
    'leases.coordination.k8s.io',
    'runtimeclasses.node.k8s.io',
    'limitranges',
    'events',
    'services',
    'endpoints',
  ],
  ...['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'].map(
    (name) => `${name}.rbac.authorization.k8s.io`,
  ),
]);
/** Kinds whose updates must name the version that they have seen. */
const VERSIONED = new Set([
  ...['leases.coordination.k8s.io', 'runtimeclasses.node.k8s.io', 'poddisruptionbudgets.policy'],
  ...['csidrivers', 'csinodes', 'volumeattachments'].map((name) => `${name}.storage.k8s.io`),
  ...['resourceclaims', 'resourceslices'].map((name) => `${name}.resource.k8s.io`),
]);
const SYSTEM_NAMESPACES = new Set(['default', 'kube-system', 'kube-public']);

export class ApiObjects {
  readonly options: ObjectsOptions;
  readonly store: Store;

  constructor(options: ObjectsOptions) {
    this.options = options;
    this.store = options.store;
  }

  find({ type, namespace, name }: Target): AnyObject | undefined {
    return this.store.get(storeKey(type), { name, namespace });
  }

  get(target: Target): AnyObject {
    const found = this.find(target);
    if (found === undefined) throw notFound(target);
    return found;
  }

  create({ type, namespace }: Omit<Target, 'name'>, sent: Draft, options: WriteOptions): AnyObject {
    const { user, dryRun = false, managers } = options;
    const { store } = this;
    const made: Draft = {
      ...without(sent, ['apiVersion', 'kind']),
      metadata: this.#newMetadata(type, namespace, sent.metadata as Draft),
    };
    if (type.isCustom === true && type.subresources.includes('status'))
      Reflect.deleteProperty(made, 'status');
    const target = { type, namespace, name: String(made.metadata.name) };
    if (namespace !== undefined) this.#checkNamespace(namespace, target);
    const isPod = type.plural === 'pods';
    setDefaults(storeKey(type), made);
    const managedFields = managers?.(undefined, made);
    made.metadata = withManaged(made.metadata as Draft, managedFields);
    prepareNew(storeKey(type), made, { user, clusterIP: () => this.#freeClusterIP() });
    if (type.plural === 'nodes') taintNewNode(made);
    restrictCreation(user, target, made, store);
    if (isPod) admitPod(made, { store, serviceAccounts: this.options.serviceAccounts, randomSuffix });
    checkNew(target, made);
    const stored = isPod ? gated(newPod(made as unknown as Pod), rfc3339(this.options.now())) : made;
    const other = this.find(target);
    if (other !== undefined) throw alreadyExists(target, other.metadata.deletionTimestamp !== undefined);
    const uid = randomUUID();
    if (dryRun) return { ...stored, metadata: { ...stored.metadata, uid } };
    return store.add(storeKey(type), stored as unknown as NewObject, undefined, uid);
  }

  /** Whether an update creates a missing object. */
  isMadeByUpdate(target: Target): boolean {
    return CREATED_BY_UPDATE.has(storeKey(target.type)) && this.find(target) === undefined;
  }

  /** Replaces the object by what was sent. */
  update(target: Target, sent: Draft, options: WriteOptions): AnyObject {
    const before = this.get(target);
    const isVersioned = target.type.isCustom ?? VERSIONED.has(storeKey(target.type));
    if ((sent.metadata?.resourceVersion ?? '') === '' && isVersioned)
      throw invalid(target, [
        { field: 'metadata.resourceVersion', message: 'Invalid value: 0: must be specified for an update' },
      ]);
    return this.change(target, before, sent, options);
  }

  /** Stores a changed object. Stores nothing if nothing has changed. */
  change(
    target: Target,
    before: AnyObject,
    sent: Draft,
    { user, dryRun = false, subresource = '', managers }: WriteOptions,
  ): AnyObject {
    const { type } = target;
    const fields = structuredClone(without(sent, ['apiVersion', 'kind']));
    const metadata = { ...withoutEmpty(sent.metadata as Draft), ...fixedMetadata(before) };
    const next = { ...fields, metadata } as unknown as AnyObject;
    setDefaults(storeKey(type), next);
    checkUID(target, before, { ...(sent.metadata as Draft | undefined), dryRun });
    restrictChange(user, target, { before, after: next, subresource }, this.store);
    checkChange(target, before, next, sent.metadata?.resourceVersion as string | undefined);
    const managedFields =
      managers === undefined
        ? entriesIn(before)
        : managers(before, { ...next, metadata: withSent(metadata, sent) });
    const changed = changedObject({ type, subresource, before, sent: next });
    const after = { ...changed, metadata: withManaged(changed.metadata, managedFields) } as AnyObject;
    if (
      equalJson(withoutManaged(before), withoutManaged(after)) &&
      sameManagers(entriesIn(before), managedFields)
    )
      return before;
    if (dryRun) return after;
    const key = storeKey(type);
    if (isFinallyDeleted(after)) {
      this.store.remove(key, before, undefined);
      return after;
    }
    return this.store.replace(key, before, after, undefined);
  }

  /** Returns the object as it is left for now, or its last state if it is gone. */
  delete(
    target: Target,
    deletion: DeleteOptions,
    { user, dryRun = false }: WriteOptions,
  ): { readonly left?: AnyObject; readonly last?: AnyObject } {
    const { type } = target;
    const before = this.get(target);
    const { uid, resourceVersion } = deletion.preconditions ?? {};
    if (uid !== undefined && uid !== before.metadata.uid) throw otherUID(target, uid, before.metadata.uid);
    if (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      throw otherVersion(target, resourceVersion, before.metadata.resourceVersion);
    if (type.plural === 'pods' && isEnding(before, deletion, this.options.now())) return { left: before };
    restrictDeletion(user, target, before, this.store);
    if (type.plural === 'namespaces' && SYSTEM_NAMESPACES.has(target.name))
      throw forbidden(type, target.name, 'this namespace may not be deleted');
    const left = this.#leftBy(before, target, deletion);
    const key = storeKey(type);
    if (left !== undefined) {
      if (dryRun || equalJson(left, before)) return { left };
      return { left: this.store.replace(key, before, left, undefined) };
    }
    const ended = type.plural === 'pods' ? this.#withoutGrace(before) : before;
    if (dryRun) return { last: ended };
    // Watchers of a pod first get its version without a grace period.
    const last = equalJson(ended, before)
      ? before
      : (this.store.replace(key, before, ended, undefined) as AnyObject);
    this.store.remove(key, last, undefined);
    return { last: { ...last, metadata: { ...last.metadata, resourceVersion: String(this.store.version) } } };
  }

  #withoutGrace(pod: AnyObject): AnyObject {
    const { generation = 1, deletionTimestamp } = pod.metadata as {
      generation?: number;
      deletionTimestamp?: string;
    };
    const metadata = {
      ...pod.metadata,
      generation: generation + (deletionTimestamp === undefined ? 1 : 0),
      // It is over already, or is over now.
      deletionTimestamp: [deletionTimestamp, rfc3339(this.options.now())].sort()[0],
      deletionGracePeriodSeconds: 0,
    };
    return { ...pod, metadata };
  }

  #leftBy(before: AnyObject, { type }: Target, deletion: DeleteOptions): AnyObject | undefined {
    const now = this.options.now();
    const { gracePeriodSeconds: graceSeconds, propagationPolicy } = deletion;
    const { deletionTimestamp = rfc3339(now), finalizers: formerly = [] } = before.metadata;
    const policy = deletion.orphanDependents === true ? 'Orphan' : (propagationPolicy ?? '');
    const finalizers = finalizersFor(policy, formerly);
    const waiting = {
      ...before,
      metadata: { ...without(before.metadata, ['finalizers']), ...(finalizers.length > 0 && { finalizers }) },
    };
    const left =
      type.plural === 'pods' ? deletedPod(waiting as unknown as Pod, { graceSeconds, now }) : undefined;
    if (left !== undefined) return left as unknown as AnyObject;
    if (type.plural === 'namespaces') {
      const metadata = { ...before.metadata, deletionTimestamp };
      return { ...before, metadata, status: { ...before.status, phase: 'Terminating' } };
    }
    if (finalizers.length === 0) return undefined;
    if (type.plural === 'pods') return this.#withoutGrace(waiting);
    const { generation } = before.metadata as { generation?: number };
    const isFirst = before.metadata.deletionTimestamp === undefined;
    const metadata = {
      ...waiting.metadata,
      deletionTimestamp,
      deletionGracePeriodSeconds: 0,
      ...(generation !== undefined && isFirst && { generation: generation + 1 }),
    };
    return { ...before, metadata };
  }

  #newMetadata(type: ServedType, namespace: string | undefined, sent: Draft = {}): Draft {
    const { generateName, ...rest } = sent;
    const name = sent.name ?? (generateName === undefined ? '' : `${String(generateName)}${randomSuffix()}`);
    for (const field of [
      'uid',
      'resourceVersion',
      'deletionTimestamp',
      'deletionGracePeriodSeconds',
      'selfLink',
    ])
      Reflect.deleteProperty(rest, field);
    return {
      ...withoutEmpty(rest),
      ...(generateName !== undefined && { generateName }),
      name,
      ...(namespace !== undefined && { namespace }),
      ...((type.isCustom ?? GENERATED.has(type.kind)) && { generation: 1 }),
      creationTimestamp: rfc3339(this.options.now()),
    };
  }

  #checkNamespace(namespace: string, { type, name }: Target): void {
    const namespaces = typeOf('namespaces');
    const found = this.store.get('namespaces', { name: namespace }) as AnyObject | undefined;
    if (found === undefined) throw notFound({ type: namespaces, name: namespace });
    if (found.metadata.deletionTimestamp !== undefined)
      throw forbidden(
        type,
        name,
        `unable to create new content in namespace ${namespace} because it is being terminated`,
        [
          {
            reason: 'NamespaceTerminating',
            message: `namespace ${namespace} is being terminated`,
            field: 'metadata.namespace',
          },
        ],
      );
  }

  #freeClusterIP(): string {
    const used = new Set(
      (this.store.list('services') as AnyObject[]).map(({ spec }) => spec.clusterIP as string),
    );
    for (let last = 10; ; last += 1) {
      const address = `10.96.${Math.floor(last / 250)}.${1 + (last % 250)}`;
      if (!used.has(address)) return address;
    }
  }
}

const OWNERS_FINALIZERS: Readonly<Record<string, string>> = {
  Foreground: 'foregroundDeletion',
  Orphan: 'orphan',
};

/** The latest deletion decides what happens to the dependents. */
function finalizersFor(policy: string, formerly: readonly string[]): readonly string[] {
  if (policy === '') return formerly;
  const own = OWNERS_FINALIZERS[policy];
  const others = formerly.filter((name) => name === own || !Object.values(OWNERS_FINALIZERS).includes(name));
  return own === undefined || others.includes(own) ? others : [...others, own];
}

/** The pod is being deleted already, and will not be gone any sooner. */
function isEnding(pod: AnyObject, { gracePeriodSeconds: graceSeconds }: DeleteOptions, now: number): boolean {
  return (
    pod.metadata.deletionTimestamp !== undefined &&
    deletedPod(pod as unknown as Pod, { graceSeconds, now }) === (pod as unknown)
  );
}

/** A random ending as in `generateName` and in the server's own names. */
function randomSuffix(): string {
  return Array.from({ length: SUFFIX_LENGTH }, () => SUFFIX_LETTERS[randomInt(SUFFIX_LETTERS.length)]).join(
    '',
  );
}

/** Empty lists and maps, and a generation that a client counts from nothing, are not stored. */
function withoutEmpty(metadata: Draft): Draft {
  const isEmpty = (value: unknown) =>
    value === '' ||
    value === 0 ||
    (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => !isEmpty(value)));
}

function withManaged(metadata: Draft, managedFields: readonly ManagedFieldsEntry[] | undefined): Draft {
  return { ...without(metadata, ['managedFields']), ...(managedFields && { managedFields }) };
}

/** An empty list of managers means something. */
function withSent(metadata: Draft, sent: Draft): Draft {
  const { managedFields } = (sent.metadata ?? {}) as Draft;
  return managedFields === undefined ? metadata : { ...metadata, managedFields };
}

/** The metadata that no update of an object changes. */
function fixedMetadata({ metadata }: AnyObject): Draft {
  const kept: Draft = {};
  const fields = [
    'name',
    'namespace',
    'uid',
    'resourceVersion',
    'creationTimestamp',
    'generateName',
    'generation',
  ].concat(['deletionTimestamp', 'deletionGracePeriodSeconds']);
  for (const field of fields) {
    const value = (metadata as Draft)[field];
    if (value !== undefined) kept[field] = value;
  }
  return kept;
}

/** It was deleted before, and the last finalizer is gone now. */
function isFinallyDeleted({ metadata, spec }: AnyObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = metadata;
  const isNamespace = metadata.namespace === undefined && Array.isArray(spec?.finalizers);
  const waits = isNamespace ? (spec.finalizers as string[]).length > 0 : deletionGracePeriodSeconds > 0;
  return deletionTimestamp !== undefined && !waits && finalizers.length === 0;
}

/** The object as it is served: with its kind. */
export function served(object: object, type: ServedType): object {
  return { kind: type.kind, apiVersion: apiVersionOf(type), ...viewed(object, type) };
}
