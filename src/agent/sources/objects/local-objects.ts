/** The objects of manifests, given to pods of manifests as an API server would give them. */
import { isDeepStrictEqual } from 'node:util';
import type { Observable } from 'rxjs';
import { ChangedPods } from '../../cluster/objects/changed-pods.ts';
import { configReferences, ObjectReferences } from '../../cluster/objects/object-references.ts';
import type { ObjectReference } from '../../cluster/service/api-resources.ts';
import { claimNameOf, claimsOf } from '../../policies/volumes/claimed-volume.ts';
import { promiseOf } from '../../../system/promises.ts';
import type { ApiObjects, KnownServices } from '../../../types/api-objects.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { StateletError } from '../../../types/errors.ts';
import type {
  ConfigMap,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  Secret,
} from '../../../types/kubernetes.ts';
import { firstCome, nameIsTaken } from '../first-come.ts';
import type { SourceProblem, SourceUpdate } from '../source.ts';
import type { ClaimFolders } from './claim-folders.ts';
import { type ManifestObject, objectKey, type ObjectName } from './manifest-object.ts';

export interface Placed {
  /** Path or URL of its manifest. */
  readonly file: string;
  readonly object: ManifestObject;
}

const NO_SERVICES: KnownServices = { listed: true, services: [] };
const NOTHING = Promise.resolve(undefined);

/** A pod finds the objects of its own namespace. What is not there yet is waited for, as in a cluster. */
export class LocalObjects implements ApiObjects {
  readonly #references = new ObjectReferences();
  readonly #changed: ChangedPods;
  readonly #claims: ClaimFolders;
  #objects: ReadonlyMap<string, ManifestObject> = new Map();
  /** Which file or URL has an object. */
  #holders: ReadonlyMap<string, string> = new Map();
  /** All manifests have been read. */
  #isComplete = false;

  constructor({ clock }: Pick<AgentContext, 'clock'>, claims: ClaimFolders) {
    this.#changed = new ChangedPods(clock);
    this.#claims = claims;
  }

  /** The UIDs of pods that are to be synced now, since what they refer to has changed. */
  get changes(): Observable<string> {
    return this.#changed.changes;
  }

  /** Replaces the objects of all manifests. Returns the update with the problems of the new ones. */
  take(update: SourceUpdate): SourceUpdate {
    const claims = (update.objects ?? []).flatMap(({ file, objects }) =>
      objects.map((object) => ({ holder: file, value: { file, object } })),
    );
    const { kept, refused, holders } = firstCome(claims, ({ object }) => [objectKey(object)], this.#holders);
    const before = this.#objects;
    const changedBy = kept.filter(({ object }) => isForbiddenChange(before.get(objectKey(object)), object));
    const next = new Map(kept.map(({ object }) => [objectKey(object), object]));
    for (const { object } of changedBy) {
      const known = before.get(objectKey(object));
      if (known !== undefined) next.set(objectKey(object), known);
    }
    const wasComplete = this.#isComplete;
    this.#isComplete = update.pods !== undefined && update.restored === undefined;
    this.#objects = next;
    this.#holders = holders;
    this.#changed.tell(
      this.#isComplete === wasComplete ? this.#podsOfChanged(before) : [...this.#references.pods],
    );
    const isWhole = this.#isComplete && update.problems.every(({ leavesOut }) => leavesOut);
    this.#claims.keep(isWhole ? this.#claimNames() : undefined);
    const problems = [
      ...refused.map(({ value, of }) => leftOut(value, of)),
      ...changedBy.map(({ file, object }) => immutableProblem(file, object)),
    ];
    return problems.length === 0 ? update : { ...update, problems: [...update.problems, ...problems] };
  }

  /** As they stand in their manifests. */
  all(): readonly Placed[] {
    return Array.from(this.#objects, ([key, object]) => ({ file: this.#holders.get(key) ?? '', object }));
  }

  registerPod(pod: Pod): void {
    const { namespace, uid } = pod.metadata;
    const claims = claimsOf(pod).map((volume): ObjectReference => {
      return { resource: 'persistentvolumeclaims', namespace, name: claimNameOf(pod, volume) ?? '' };
    });
    this.#references.set(uid, [...configReferences(pod), ...claims]);
  }

  configMap(namespace: string, name: string): Promise<ConfigMap | undefined> {
    return promiseOf(() => this.#find({ kind: 'ConfigMap', namespace, name }));
  }

  secret(namespace: string, name: string): Promise<Secret | undefined> {
    return promiseOf(() => this.#find({ kind: 'Secret', namespace, name }));
  }

  /** Each claim is bound to a PersistentVolume of its own. */
  persistentVolumeClaim(namespace: string, name: string): Promise<PersistentVolumeClaim | undefined> {
    return promiseOf(() => {
      const claim: PersistentVolumeClaim | undefined = this.#find({
        kind: 'PersistentVolumeClaim',
        namespace,
        name,
      });
      const volumeName = volumeNameOf(namespace, name);
      return (
        claim && {
          metadata: { ...claim.metadata, uid: volumeName },
          spec: { ...claim.spec, volumeName },
          status: { phase: 'Bound' },
        }
      );
    });
  }

  /** Makes the folder of the claim unless it is there. */
  async persistentVolume(volumeName: string): Promise<PersistentVolume | undefined> {
    const [namespace = '', name = ''] = volumeName.split('/');
    const claim = await this.persistentVolumeClaim(namespace, name);
    if (claim === undefined) return undefined;
    const path = await this.#claims.make(volumeName);
    const { accessModes } = claim.spec ?? {};
    return {
      metadata: { name: volumeName },
      spec: {
        accessModes,
        claimRef: { namespace, name, uid: volumeName },
        hostPath: { path, type: 'Directory' },
      },
    };
  }

  /** Only an API server has them. */
  clusterTrustBundles(): Promise<readonly never[]> {
    return Promise.resolve([]);
  }

  nodeLabels(): undefined {
    return undefined;
  }

  services(): KnownServices {
    return NO_SERVICES;
  }

  serviceAccount(): Promise<undefined> {
    return NOTHING;
  }

  token(): Promise<string> {
    return Promise.reject(
      new StateletError('FailedPrecondition', 'there is no API server that gives tokens'),
    );
  }

  forgetPod(uid: string): void {
    this.#references.delete(uid);
    this.#changed.forget(uid);
    this.#claims.released();
  }

  close(): void {
    this.#changed.stop();
    this.#claims.close();
  }

  #find(wanted: ObjectName): ManifestObject['object'] | undefined {
    const found = this.#objects.get(objectKey(wanted));
    if (found === undefined && !this.#isComplete) {
      const { kind, namespace, name } = wanted;
      const message = `${kind} ${namespace}/${name} is not known: not all manifests of --pods have been read`;
      throw new StateletError('FailedPrecondition', message);
    }
    return found?.object;
  }

  #podsOfChanged(before: ReadonlyMap<string, ManifestObject>): readonly string[] {
    const all = new Map([...before, ...this.#objects]);
    return [...all].flatMap(([key, object]) =>
      isDeepStrictEqual(before.get(key), this.#objects.get(key))
        ? []
        : [...this.#references.podsOf(referenceTo(object))],
    );
  }

  /** Of the claims that have a document or a pod. */
  #claimNames(): (name: string) => boolean {
    return (volumeName) => {
      const [namespace = '', name = ''] = volumeName.split('/');
      const claim = { kind: 'PersistentVolumeClaim', namespace, name } as const;
      const [pod] = this.#references.podsOf(referenceTo(claim));
      return pod !== undefined || this.#objects.has(objectKey(claim));
    };
  }
}

/** Names of namespaces and claims have no slash. */
function volumeNameOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

const RESOURCES = {
  ConfigMap: 'configmaps',
  Secret: 'secrets',
  PersistentVolumeClaim: 'persistentvolumeclaims',
} as const;

function referenceTo({ kind, namespace, name }: ObjectName): ObjectReference {
  return { resource: RESOURCES[kind], namespace, name };
}

function isForbiddenChange(before: ManifestObject | undefined, now: ManifestObject): boolean {
  if (before?.kind === 'PersistentVolumeClaim' || before?.object.immutable !== true) return false;
  const contentOf = ({ data = {}, binaryData = {}, immutable }: ConfigMap) => [data, binaryData, immutable];
  return !isDeepStrictEqual(contentOf(before.object), contentOf(now.object));
}

function immutableProblem(file: string, { kind, namespace, name }: ObjectName): SourceProblem {
  const message = `the ${kind} ${namespace}/${name} is immutable, and keeps its former content: give it another name, or remove it first`;
  return { source: 'local', file, field: 'immutable', message, leavesOut: true };
}

function leftOut({ file, object }: Placed, holder: string): SourceProblem {
  const { kind, namespace, name } = object;
  return { source: 'local', ...nameIsTaken({ kind, namespace, name, file }, holder) };
}
