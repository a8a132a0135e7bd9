/** Checks that each victim gets SyncPodKill, ends, and is cleaned up before the next pass. */
import type { Eviction } from '../../../agent/policies/eviction/pass.ts';
import { EVICTED } from '../../../agent/policies/eviction/eviction-message.ts';
import type { PodEvent } from '../../../agent/machines/pod-machine.ts';
import { isNeverEvicted, patienceMs, type PodRecord } from '../pod-records.ts';
import { isTerminated } from '../pod-states.ts';

export type KillEvent = Extract<PodEvent, { readonly type: 'SyncPodKill' }>;

export interface EvictionVictimsOptions {
  readonly now: () => number;
  readonly violated: (invariant: string, subject: PodRecord, what: string) => void;
}

/** A pod that was chosen to be evicted. */
interface Victim {
  readonly tenant: PodRecord;
  readonly eviction: Eviction;
  /** Until when eviction waits for it, Unix ms. */
  readonly deadline: number;
  isKilled: boolean;
  endedAt: number | undefined;
}

/** How long eviction waits for the clean-up of an evicted pod. */
const CLEANUP_PATIENCE_MS = 30_000;

export class EvictionVictims {
  readonly #options: EvictionVictimsOptions;
  /** By UID, without victims for which eviction does not wait any more. */
  readonly #victims = new Map<string, Victim>();
  /** UIDs of victims that did not end in time. */
  readonly #givenUp = new Set<string>();

  constructor(options: EvictionVictimsOptions) {
    this.#options = options;
  }

  isGivenUp(uid: string): boolean {
    return this.#givenUp.has(uid);
  }

  chosen(tenant: PodRecord, eviction: Eviction): void {
    if (isNeverEvicted(tenant)) this.#violated('eviction', tenant, 'is evicted, and must never be');
    const deadline = this.#options.now() + patienceMs(eviction.gracePeriodSeconds);
    const victim: Victim = { tenant, eviction, deadline, isKilled: false, endedAt: undefined };
    this.#victims.set(tenant.uid, victim);
    queueMicrotask(() => {
      if (!victim.isKilled && !isTerminated(tenant.state))
        this.#violated('I9', tenant, 'is evicted, and is not told by SyncPodKill');
    });
  }

  /** I9: an evicted pod was chosen before, and gets SyncPodKill. */
  killed(tenant: PodRecord, { options }: KillEvent): void {
    const { podStatus, podTerminationGracePeriodSecondsOverride: graceSeconds } = options ?? {};
    // The other kills of a simulation have no status.
    if (podStatus?.reason !== EVICTED || podStatus.message === undefined) return;
    const victim = this.#victims.get(tenant.uid);
    tenant.evictedFor = victim?.eviction.signal ?? '';
    if (victim === undefined || victim.isKilled) {
      this.#violated('I9', tenant, 'is evicted, and was not chosen');
      return;
    }
    victim.isKilled = true;
    if (graceSeconds !== victim.eviction.gracePeriodSeconds || options?.evict !== true)
      this.#violated('eviction', tenant, 'is not evicted as was decided');
  }

  /** The victims of the last pass have ended and been cleaned up: what they used is free now. */
  passBegins(): void {
    for (const [uid, { tenant, endedAt }] of this.#victims) {
      if (endedAt === undefined) {
        this.#violated('eviction', tenant, 'is evicted, and the next pass begins beside it');
        continue;
      }
      if (this.#options.now() < endedAt + CLEANUP_PATIENCE_MS) this.#checkCleanedUp(tenant);
      this.#victims.delete(uid);
    }
  }

  /** The pass may begin while the pod's actor is still entering its last state. */
  #checkCleanedUp(tenant: PodRecord): void {
    queueMicrotask(() => {
      if (tenant.state !== 'Terminated.Finished')
        this.#violated('eviction', tenant, `is evicted, and the next pass begins in ${tenant.state}`);
    });
  }

  /** A pod that counts as ended has ended, and in time. */
  ended(uid: string): void {
    const victim = this.#victims.get(uid);
    if (victim === undefined) return;
    const { tenant, deadline } = victim;
    victim.endedAt = this.#options.now();
    if (victim.endedAt > deadline)
      this.#violated('eviction', tenant, 'is waited for longer than it may take to end');
    queueMicrotask(() => {
      if (!tenant.isGone && !isTerminated(tenant.state))
        this.#violated('eviction', tenant, `counts as ended in ${tenant.state}`);
    });
  }

  failed(uid: string): void {
    const victim = this.#victims.get(uid);
    if (victim === undefined) return;
    this.#victims.delete(uid);
    this.#givenUp.add(uid);
    if (this.#options.now() < victim.deadline)
      this.#violated('eviction', victim.tenant, 'is given up before its time');
  }

  gone(uid: string): void {
    this.#givenUp.delete(uid);
  }

  #violated(...violation: Parameters<EvictionVictimsOptions['violated']>): void {
    this.#options.violated(...violation);
  }
}
