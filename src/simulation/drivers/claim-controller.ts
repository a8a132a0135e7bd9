/** Allocates and reserves the ResourceClaims of simulated pods, as the scheduler and a controller of the cluster do. */
import type { Clock } from '../../types/clock.ts';
import type { ObjectMeta, Pod, ResourceClaim } from '../../types/kubernetes.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';
import type { StoredObject } from '../api/api-store.ts';
import type { KeyedRandom } from '../resources/growth.ts';
import { type DraPlan, ownClaimEntry } from './dra-plan.ts';

export interface ClaimControllerOptions {
  readonly plan: DraPlan;
  readonly api: SimulatedApiServer;
  readonly clock: Clock;
  readonly random: KeyedRandom;
  readonly misbehaves: () => boolean;
  /** From now on the pod may use the claim. */
  readonly onReserved: (claimUID: string, podUID: string) => void;
}

type StoredClaim = ResourceClaim & StoredObject;
type Reservations = NonNullable<NonNullable<ResourceClaim['status']>['reservedFor']>;
type Consumer = Pick<Pod['metadata'], 'name' | 'uid'>;

const PERIOD_MS = 1_000;
const NAMESPACE = 'default';
/** Per turn. */
const RESERVES = 0.6;
const MADE_ANEW = 0.01;

export class ClaimController {
  readonly #options: ClaimControllerOptions;
  #turns = 0;
  #made = 0;

  constructor(options: ClaimControllerOptions) {
    this.#options = options;
    for (const name of options.plan.claims) this.#create(name);
    this.#turnLater();
  }

  #turnLater(): void {
    this.#options.clock.setTimeout(() => {
      for (const name of this.#options.plan.claims) this.#look(name);
      for (const pod of this.#pods()) this.#lookAtOwn(pod);
      this.#removeUnowned();
      this.#turnLater();
    }, PERIOD_MS);
  }

  #create(name: string, ownerReferences?: ObjectMeta['ownerReferences']): void {
    const claims = { resource: 'resourceclaims', namespace: NAMESPACE } as const;
    const metadata = { name, namespace: NAMESPACE, ...(ownerReferences && { ownerReferences }) };
    this.#options.api.operations.create(claims, { metadata, spec: {} });
  }

  #look(name: string): void {
    const { misbehaves } = this.#options;
    const claim = this.#claim(name);
    if (claim === undefined) {
      this.#create(name);
      return;
    }
    const users = this.#pods().filter(({ spec }) =>
      spec.resourceClaims?.some(({ resourceClaimName }) => resourceClaimName === name),
    );
    const before = claim.status?.reservedFor ?? [];
    const kept = before.filter(({ uid }) => users.some(({ metadata }) => metadata.uid === uid));
    const [next] = users.filter(({ metadata }) => kept.every(({ uid }) => uid !== metadata.uid));
    const draw = this.#draw();
    if (next === undefined && before.length === 0 && misbehaves() && draw < MADE_ANEW) {
      this.#delete(name);
      return;
    }
    const news = next !== undefined && draw < RESERVES ? [next.metadata] : [];
    if (news.length > 0 || kept.length < before.length) this.#reserve(claim, kept, news);
  }

  /** One step a turn: the claim is made, the pod's status gets its name, and it is reserved for the pod alone. */
  #lookAtOwn({ metadata: { name: podName, uid }, spec, status }: Pod): void {
    const entry = ownClaimEntry(spec);
    if (entry === undefined || this.#draw() >= RESERVES) return;
    const { operations } = this.#options.api;
    const claim = this.#owned().find(({ metadata }) => metadata.ownerReferences?.[0]?.uid === uid);
    const isInStatus = status?.resourceClaimStatuses?.some(({ name }) => name === entry) === true;
    if (claim === undefined) {
      const owner = { apiVersion: 'v1', kind: 'Pod', name: podName, uid, controller: true };
      this.#create(`${podName}-${entry}-${String(++this.#made)}`, [owner]);
    } else if (!isInStatus) {
      const pod = { resource: 'pods', namespace: NAMESPACE, name: podName, subresource: 'status' } as const;
      const resourceClaimStatuses = [{ name: entry, resourceClaimName: claim.metadata.name }];
      operations.patch(pod, { status: { resourceClaimStatuses } });
    } else if (claim.status === undefined) this.#reserve(claim, [], [{ name: podName, uid }]);
  }

  #removeUnowned(): void {
    const uids = new Set(this.#pods().map(({ metadata }) => metadata.uid));
    for (const { metadata } of this.#owned())
      if (!uids.has(metadata.ownerReferences?.[0]?.uid ?? '')) this.#delete(metadata.name);
  }

  #reserve(claim: StoredClaim, kept: Reservations, news: readonly Consumer[]): void {
    const { api, plan, onReserved } = this.#options;
    const { name, uid: claimUID } = claim.metadata;
    for (const { uid } of news) onReserved(claimUID, uid);
    const results = [{ driver: plan.driver, pool: 'pool', device: name, request: 'gpu' }];
    const reserved = news.map(({ name: pod, uid }) => ({ resource: 'pods', name: pod, uid }));
    const status = { allocation: { devices: { results } }, reservedFor: [...kept, ...reserved] };
    api.operations.patch(targetOf(name), { status });
  }

  #delete(name: string): void {
    this.#options.api.operations.delete(targetOf(name));
  }

  #claim(name: string): StoredClaim | undefined {
    const found: unknown = this.#options.api.store.get('resourceclaims', targetOf(name));
    return found as StoredClaim | undefined;
  }

  /** Those that belong to a pod. */
  #owned(): readonly StoredClaim[] {
    const claims = this.#options.api.store.list('resourceclaims') as unknown as readonly StoredClaim[];
    return claims.filter(({ metadata }) => metadata.ownerReferences !== undefined);
  }

  /** The pods that have not ended. */
  #pods(): readonly Pod[] {
    const pods = this.#options.api.store.list('pods') as unknown as readonly Pod[];
    return pods.filter(({ status }) => status?.phase !== 'Succeeded' && status?.phase !== 'Failed');
  }

  #draw(): number {
    return this.#options.random(`dra/turn/${String(++this.#turns)}`);
  }
}

function targetOf(name: string) {
  return { resource: 'resourceclaims', namespace: NAMESPACE, name } as const;
}
