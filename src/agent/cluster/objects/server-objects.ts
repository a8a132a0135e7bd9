import type { Observable } from 'rxjs';
import type {
  ApiObjects,
  KnownServices,
  ResourceClaimObjects,
  StorageObjects,
  TokenWish,
} from '../../../types/api-objects.ts';
import type { ChangeDetectionStrategy } from '../../../types/node-settings.ts';
import type {
  ClusterTrustBundle,
  ConfigMap,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  ResourceClaim,
  Secret,
  ServiceAccount,
  TrustBundleSelection,
  CSIDriver,
  VolumeAttachment,
} from '../../../types/kubernetes.ts';
import type { ApiServer } from '../service/api-server.ts';
import type { WatchContext } from '../watches/reflect.ts';
import { ServiceWatch } from '../watches/service-watch.ts';
import { CachedObjects } from './cached-objects.ts';
import { ChangedPods } from './changed-pods.ts';
import { ClaimObjects, FetchedObjects, readObject } from './fetched-objects.ts';
import {
  type ConfigObjectReference,
  configReferences,
  ObjectReferences,
  type ObjectSource,
  type ReferenceChanges,
} from './object-references.ts';
import { PodTokens } from './pod-tokens.ts';
import { TrustBundles } from './trust-bundles.ts';
import { WatchedObjects } from './watched-objects.ts';

/** An object that is not read for so many periods of syncs is needed for nothing but the next start of a container. */
const UNREAD_PERIODS = 5;

export interface ServerObjectsParts {
  readonly api: ApiServer;
  /** Default: `Watch`. */
  readonly strategy?: ChangeDetectionStrategy;
  readonly syncFrequencyMs: number;
  /** Of the Node object, as it was last seen. */
  readonly nodeLabels?: () => Readonly<Record<string, string>> | undefined;
  /** With the strategy `Cache`: how long a read object counts as new. Undefined: a minute. */
  readonly objectTTLMs?: () => number | undefined;
}

/** The objects of the API server that pods refer to. They are known while a pod refers to them, and no longer. */
export class ServerObjects implements ApiObjects, StorageObjects, ResourceClaimObjects {
  readonly #source: ObjectSource;
  readonly #references = new ObjectReferences<ConfigObjectReference>();
  readonly #changed: ChangedPods;
  readonly #services: ServiceWatch;
  readonly #tokens: PodTokens;
  readonly #access: Pick<ServerObjectsParts, 'api'> & Pick<WatchContext, 'clock'>;
  readonly #claims: ClaimObjects;
  readonly #bundles: TrustBundles;
  readonly #nodeLabels: ServerObjectsParts['nodeLabels'];
  /** A pod has asked for the services, and they were not known. */
  #areServicesAwaited = false;

  constructor(context: WatchContext, parts: ServerObjectsParts) {
    const { clock } = context;
    const { api } = parts;
    this.#access = { api, clock };
    this.#changed = new ChangedPods(clock);
    this.#source = this.#open(context, parts);
    this.#services = new ServiceWatch(context, api, () => this.#servicesListed());
    this.#claims = new ClaimObjects(api, clock);
    this.#bundles = new TrustBundles(context, api, (uids) => this.#changed.tell(uids));
    this.#nodeLabels = parts.nodeLabels;
    this.#tokens = new PodTokens(context, api, (uid) => this.#changed.tell([uid]));
  }

  /** The UIDs of pods that are to be synced now: what they refer to has changed, or a token of theirs is due to be renewed. */
  get changes(): Observable<string> {
    return this.#changed.changes;
  }

  registerPod(pod: Pod): void {
    this.#take(this.#references.set(pod.metadata.uid, configReferences(pod)));
  }

  configMap(namespace: string, name: string): Promise<ConfigMap | undefined> {
    return this.#source.read({ resource: 'configmaps', namespace, name });
  }

  secret(namespace: string, name: string): Promise<Secret | undefined> {
    return this.#source.read({ resource: 'secrets', namespace, name });
  }

  services(): KnownServices {
    const { known } = this.#services;
    if (!known.listed) this.#areServicesAwaited = true;
    return known;
  }

  serviceAccount(namespace: string, name: string): Promise<ServiceAccount | undefined> {
    return readObject(this.#access, { resource: 'serviceaccounts', namespace, name });
  }

  persistentVolumeClaim(namespace: string, name: string): Promise<PersistentVolumeClaim | undefined> {
    return this.#claims.claim(namespace, name);
  }

  persistentVolume(name: string): Promise<PersistentVolume | undefined> {
    return this.#claims.volume(name);
  }

  csiDriver(name: string): Promise<CSIDriver | undefined> {
    return readObject(this.#access, { resource: 'csidrivers', name });
  }

  patchClaimStatus({ metadata }: PersistentVolumeClaim, patch: object): Promise<PersistentVolumeClaim> {
    const { namespace = '', name = '' } = metadata ?? {};
    const target = { resource: 'persistentvolumeclaims', namespace, name, subresource: 'status' } as const;
    return this.#access.api.patch<PersistentVolumeClaim>(target, patch);
  }

  volumeSecret(namespace: string, name: string): Promise<Secret | undefined> {
    return readObject(this.#access, { resource: 'secrets', namespace, name });
  }

  resourceClaim(namespace: string, name: string): Promise<ResourceClaim | undefined> {
    return readObject(this.#access, { resource: 'resourceclaims', namespace, name });
  }

  volumeAttachment(name: string): Promise<VolumeAttachment | undefined> {
    return readObject(this.#access, { resource: 'volumeattachments', name });
  }

  clusterTrustBundles(
    { metadata }: Pod,
    selection: TrustBundleSelection,
  ): Promise<readonly ClusterTrustBundle[]> {
    return this.#bundles.select(metadata.uid, selection);
  }

  nodeLabels(): Readonly<Record<string, string>> | undefined {
    return this.#nodeLabels?.();
  }

  token(pod: Pod, wish: TokenWish): Promise<string> {
    return this.#tokens.get(pod, wish);
  }

  forgetPod(uid: string): void {
    this.#take(this.#references.delete(uid));
    this.#changed.forget(uid);
    this.#bundles.forgetPod(uid);
    this.#tokens.forgetPod(uid);
  }

  close(): void {
    this.#services.close();
    this.#bundles.close();
    this.#source.close();
    this.#tokens.close();
    this.#changed.stop();
  }

  #open(
    context: WatchContext,
    { api, strategy = 'Watch', objectTTLMs, syncFrequencyMs }: ServerObjectsParts,
  ): ObjectSource {
    if (strategy === 'Watch') {
      const onChange = (reference: ConfigObjectReference) =>
        this.#changed.tell(this.#references.podsOf(reference));
      return new WatchedObjects(context, api, UNREAD_PERIODS * syncFrequencyMs, onChange);
    }
    const fetched = new FetchedObjects(api, context.clock);
    return strategy === 'Get' ? fetched : new CachedObjects(context, fetched, () => objectTTLMs?.());
  }

  #take({ referred, forgotten }: ReferenceChanges<ConfigObjectReference>): void {
    for (const reference of forgotten) this.#source.forgotten(reference);
    for (const reference of referred) this.#source.referred(reference);
  }

  #servicesListed(): void {
    if (this.#areServicesAwaited) this.#changed.tell(this.#references.pods);
  }
}
