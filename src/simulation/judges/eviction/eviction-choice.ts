/** Which pods may be evicted, and which of them comes first. */
import type { Eviction } from '../../../agent/policies/eviction/pass.ts';
import type { EvictionSignal } from '../../../agent/policies/eviction/signals.ts';
import { type EvictionRules, isHard } from '../../resources/eviction-rules.ts';
import type { NodeUse, RunningTruth, StorageUse } from '../../resources/node-use.ts';
import { isEndingOrEnded, isNeverEvicted, type PodRecord, type PodRecords } from '../pod-records.ts';
import { isBeforeStart, isTerminated } from '../pod-states.ts';
import { exceededLimits, goesBefore } from './eviction-order.ts';
import type { EvictionVictims } from './eviction-victims.ts';
import { isShort, type Shortages } from './shortages.ts';

/** The truth about a node that evicts. */
export interface EvictionTruth {
  readonly rules: EvictionRules;
  readonly runtime: RunningTruth;
  /** What the pod has on disk now; undefined for a pod without figures, and on a node whose disks never get full. */
  readonly storageOf: (uid: string) => StorageUse | undefined;
}

export interface EvictionChoiceParts {
  readonly tenants: PodRecords;
  readonly truth: EvictionTruth;
  readonly victims: EvictionVictims;
  readonly shortages: Shortages;
}

/** While a pod ends that has less time than this, no other pod is evicted. */
const NEAR_END_SECONDS = 60;
/** Disk usage takes time to measure; a victim is chosen by figures that are no older than this. */
const STORAGE_MAX_AGE_MS = 1_000;

export class EvictionChoice {
  readonly #parts: EvictionChoiceParts;

  constructor(parts: EvictionChoiceParts) {
    this.#parts = parts;
  }

  /** Why this pod cannot be the one that is evicted because something is short. `use`: the figures by which it was chosen. */
  objections(victim: PodRecord, eviction: Eviction, use: NodeUse | undefined): readonly string[] {
    const all = [
      this.misplaced(victim),
      this.#beside(victim),
      ...(use === undefined
        ? ['is evicted by figures that are older than the choice']
        : [
            this.#unfit(victim, eviction, use),
            this.#overtaken(victim, eviction.signal as EvictionSignal, use),
          ]),
    ];
    return all.filter((what) => what !== undefined);
  }

  /** Why the pod cannot be evicted for any reason, if so. */
  misplaced(victim: PodRecord): string | undefined {
    if (this.#parts.victims.isGivenUp(victim.uid)) return 'is evicted again, though it has been given up';
    // A pod that has been ending for too long may be evicted, with a shorter grace period.
    const isLate = this.#parts.tenants.isOverdue(victim) && !isTerminated(victim.state);
    return isEndingOrEnded(victim) && !isLate ? `is evicted, and is in ${victim.state}` : undefined;
  }

  /** Pods are evicted one by one, and not while another pod is about to end. */
  #beside(victim: PodRecord): string | undefined {
    const { tenants } = this.#parts;
    const other = tenants
      .known()
      .find(
        (tenant) =>
          tenant !== victim &&
          isEndingOrEnded(tenant) &&
          !isTerminated(tenant.state) &&
          !tenants.isOverdue(tenant) &&
          tenant.graceSeconds <= NEAR_END_SECONDS &&
          !this.#parts.victims.isGivenUp(tenant.uid),
      );
    return other && `is evicted while ${other.uid} is in ${other.state}`;
  }

  /** Why the pod need not be evicted, or not like that, if so. */
  #unfit(
    { uid, pod }: PodRecord,
    { signal, gracePeriodSeconds }: Eviction,
    use: NodeUse,
  ): string | undefined {
    if (!use.pods.has(uid)) return 'is evicted, and uses nothing';
    const rule = this.#parts.shortages.ruleFor(signal as EvictionSignal);
    if (typeof rule === 'string') return rule;
    if (!isShort(rule, use)) return `is evicted for ${signal}, of which enough is left`;
    if (isOfDisk(signal) && isOldOnDisk(use)) return 'is evicted by what pods had on disk some time before';
    const own = pod?.spec.terminationGracePeriodSeconds ?? Infinity;
    const allowed = isHard(rule) ? 1 : Math.min(own, this.#parts.truth.rules.maxPodGracePeriodSeconds);
    return gracePeriodSeconds === allowed
      ? undefined
      : `is given ${String(gracePeriodSeconds)} s to end, not ${String(allowed)} s`;
  }

  /** Which pod has to be evicted before this one, if any. */
  #overtaken(victim: PodRecord, signal: EvictionSignal, use: NodeUse): string | undefined {
    const cause = { signal, layout: this.#parts.truth.rules.layout };
    const other = this.candidates().find(
      (tenant) => tenant !== victim && use.pods.has(tenant.uid) && goesBefore(tenant, victim, cause, use),
    );
    return other && `is evicted before ${other.uid}`;
  }

  candidates(): readonly PodRecord[] {
    return this.#parts.tenants.known().filter((tenant) => this.mayGo(tenant));
  }

  mayGo(tenant: PodRecord): boolean {
    const { uid, state } = tenant;
    return (
      !isNeverEvicted(tenant) &&
      !isEndingOrEnded(tenant) &&
      !this.#parts.victims.isGivenUp(uid) &&
      !isBeforeStart(state)
    );
  }

  exceeds({ pod }: PodRecord, storage: StorageUse | undefined): boolean {
    if (pod === undefined || storage === undefined) return false;
    return exceededLimits(pod, storage, this.#parts.truth.rules.layout).length > 0;
  }
}

function isOfDisk(signal: string): boolean {
  return signal.includes('fs.');
}

function isOldOnDisk({ atMs, pods }: NodeUse): boolean {
  return [...pods.values()].some(({ storage }) => storage && storage.atMs < atMs - STORAGE_MAX_AGE_MS);
}
