/** The ResourceClaims that pods of this node use. Each has an actor, from the first pod that wants it until it is unprepared. */
import type { ClaimState } from '../../policies/dra/claim-devices.ts';
import type { ClaimWait } from '../../policies/pod/pod-wait.ts';
import type { ClaimKeeper, DraNode } from '../../runtime/dra/dra-node.ts';
import { allOrFirstFailure } from '../../../system/promises.ts';
import { StateletError } from '../../../types/errors.ts';
import type { ActorContext } from '../actor-context.ts';
import { ResourceClaimActor } from './resource-claim-actor.ts';

export class ResourceClaims implements ClaimKeeper {
  readonly #context: ActorContext;
  readonly #dra: Pick<DraNode, 'drivers' | 'save' | 'waitChanges'>;
  /** By namespace and name. */
  readonly #claims = new Map<string, ResourceClaimActor>();
  readonly #life = new AbortController();

  constructor(context: ActorContext, dra: DraNode) {
    this.#context = context;
    this.#dra = dra;
    dra.keeper = this;
    for (const claim of dra.found) this.#begin(claim);
  }

  async use(pod: string, claims: readonly ClaimState[], signal: AbortSignal): Promise<void> {
    for (const { namespace, name, uid } of claims) {
      const known = this.#claims.get(`${namespace}/${name}`)?.snapshot.context;
      if (known === undefined || known.uid === uid) continue;
      const message = `old ResourceClaim with same name ${name} and different UID ${known.uid} still exists (previous pod force-deleted?!)`;
      throw new StateletError('FailedPrecondition', message);
    }
    const actors = claims.map(
      (claim) => this.#claims.get(`${claim.namespace}/${claim.name}`) ?? this.#begin(claim),
    );
    await allOrFirstFailure(actors.map((actor) => actor.use(pod, signal)));
    await this.#dra.save();
  }

  async leave(pod: string): Promise<void> {
    const used = [...this.#claims.values()].filter(({ snapshot }) => snapshot.context.pods.includes(pod));
    await allOrFirstFailure(used.map((actor) => actor.leave(pod, this.#life.signal)));
    await this.#dra.save();
  }

  claims(): readonly ClaimState[] {
    const held = Array.from(this.#claims.values(), ({ snapshot }) => snapshot.context);
    return held.filter(({ pods }) => pods.length > 0);
  }

  isPrepared({ namespace, name }: Pick<ClaimState, 'namespace' | 'name'>, pod: string): boolean {
    const snapshot = this.#claims.get(`${namespace}/${name}`)?.snapshot;
    if (snapshot?.context.pods.includes(pod) !== true) return false;
    // Of a claim that an earlier agent has prepared, the file has the devices.
    const hasDevices = Object.values(snapshot.context.drivers).every((devices) => devices.length > 0);
    return snapshot.matches('Prepared') || (snapshot.matches('Known') && hasDevices);
  }

  waitOf(pod: string): ClaimWait | undefined {
    for (const { snapshot } of this.#claims.values()) {
      const { pods, drivers, name, since, leaving } = snapshot.context;
      const step = snapshot.matches('Preparing')
        ? 'prepared'
        : snapshot.matches('Unpreparing') && leaving === pod
          ? 'unprepared'
          : undefined;
      if (step !== undefined && pods.includes(pod))
        return { claim: name, drivers: Object.keys(drivers), step, since };
    }
    return undefined;
  }

  stop(): void {
    this.#life.abort(new StateletError('Canceled', 'the agent stops'));
    for (const claim of this.#claims.values()) claim.stop();
  }

  #begin(claim: ClaimState): ResourceClaimActor {
    const key = `${claim.namespace}/${claim.name}`;
    const actor: ResourceClaimActor = new ResourceClaimActor(this.#context, claim, {
      drivers: this.#dra.drivers,
      save: () => this.#dra.save(),
      onStep: (pods) => this.#dra.waitChanges.next(pods),
      onGone: () => {
        if (this.#claims.get(key) === actor) this.#claims.delete(key);
      },
    });
    this.#claims.set(key, actor);
    return actor;
  }
}
