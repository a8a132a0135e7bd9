/** Allocates and reserves the ResourceClaims of simulated pods, as the scheduler and a controller of the cluster do. */
import type { Clock } from '../../types/clock.ts';
import type { Pod, ResourceClaim } from '../../types/kubernetes.ts';
import type { SimulatedApiServer } from '../api/simulated-api-server.ts';
import type { StoredObject } from '../api/api-store.ts';
import type { KeyedRandom } from '../resources/growth.ts';
import type { DraPlan } from './dra-plan.ts';

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

const PERIOD_MS = 1_000;
const NAMESPACE = 'default';
/** Per turn. */
const RESERVES = 0.3;
const MADE_ANEW = 0.01;

export class ClaimController {
  readonly #options: ClaimControllerOptions;
  #turns = 0;

  constructor(options: ClaimControllerOptions) {
    this.#options = options;
    for (const name of options.plan.claims) this.#create(name);
    this.#turnLater();
  }

  #turnLater(): void {
    this.#options.clock.setTimeout(() => {
      for (const name of this.#options.plan.claims) this.#look(name);
      this.#turnLater();
    }, PERIOD_MS);
  }

  #create(name: string): void {
    const claims = { resource: 'resourceclaims', namespace: NAMESPACE } as const;
    const object = { metadata: { name, namespace: NAMESPACE }, spec: {} };
    this.#options.api.operations.create(claims, object);
  }

  #look(name: string): void {
    const { api, plan, random, misbehaves, onReserved } = this.#options;
    const target = { resource: 'resourceclaims', namespace: NAMESPACE, name } as const;
    const found: unknown = api.store.get('resourceclaims', target);
    const claim = found as StoredClaim | undefined;
    if (claim === undefined) {
      this.#create(name);
      return;
    }
    const users = this.#users(name);
    const before = claim.status?.reservedFor ?? [];
    const kept = before.filter(({ uid }) => users.some(({ metadata }) => metadata.uid === uid));
    const [next] = users.filter(({ metadata }) => kept.every(({ uid }) => uid !== metadata.uid));
    const draw = random(`dra/turn/${String(++this.#turns)}`);
    if (next === undefined && before.length === 0 && misbehaves() && draw < MADE_ANEW) {
      api.operations.delete(target);
      return;
    }
    const news = next !== undefined && draw < RESERVES ? [next.metadata] : [];
    if (news.length === 0 && kept.length === before.length) return;
    for (const { uid } of news) onReserved(claim.metadata.uid, uid);
    const results = [{ driver: plan.driver, pool: 'pool', device: name, request: 'gpu' }];
    const reserved = news.map(({ name: pod, uid }) => ({ resource: 'pods', name: pod, uid }));
    const status = { allocation: { devices: { results } }, reservedFor: [...kept, ...reserved] };
    api.operations.patch(target, { status });
  }

  /** The pods that have not ended. */
  #users(claim: string): readonly Pod[] {
    const pods = this.#options.api.store.list('pods') as unknown as readonly Pod[];
    return pods.filter(
      ({ spec, status }) =>
        status?.phase !== 'Succeeded' &&
        status?.phase !== 'Failed' &&
        spec.resourceClaims?.some(({ resourceClaimName }) => resourceClaimName === claim) === true,
    );
  }
}
