/** Holds eviction against what really runs and uses memory: who goes when it gets short, and that they go one by one. */
import type { EvictionEvent } from '../machines/eviction-machine.ts';
import type { PodEvent } from '../machines/pod-machine.ts';
import type { Eviction } from '../policies/eviction-pass.ts';
import { EVICTED } from '../policies/eviction-texts.ts';
import { countedAmount } from '../policies/held-resources.ts';
import { isCriticalPriority, isMirrorPod, isStaticPod } from '../policies/pod-kinds.ts';
import { podRequest } from '../policies/resources.ts';
import type { Pod } from '../types/kubernetes.ts';
import type { EvictionRules } from './node-memory.ts';
import { AWAITING_START } from './pod-states.ts';
import type { MemoryUse } from './simulated-memory.ts';
import { isEnding, isTerminated, patienceMs, type Tenant, type Tenants } from './tenants.ts';

export interface EvictionJudgeOptions {
  readonly now: () => number;
  readonly tenants: Tenants;
  /** Undefined on a node that does not evict. */
  readonly rules: EvictionRules | undefined;
  readonly violated: (
    invariant: string,
    subject: { uid: string; pod?: Pod | undefined },
    what: string,
  ) => void;
}

/** What the eviction actor shows. */
export interface EvictionView {
  /** `Observing`. */
  readonly pass: string;
  readonly hasMemoryPressure: boolean;
}

type KillEvent = Extract<PodEvent, { readonly type: 'SyncPodKill' }>;

/** A pod that was chosen to go. */
interface Victim {
  readonly tenant: Tenant;
  readonly eviction: Eviction;
  /** Until when it is waited for, Unix ms. */
  readonly deadline: number;
  isTold: boolean;
  endedAt: number | undefined;
}

/** Whoever ends faster than this is waited for: nobody goes beside him. */
const NEAR_END_SECONDS = 60;
/** What an evicted pod had on the disk is waited for so long. */
const CLEANUP_PATIENCE_MS = 30_000;
/** The node is looked at every ten seconds, and a look does not take long once nothing goes wrong. */
const LONGEST_SILENCE_MS = 30_000;
const NODE = { uid: '' };

export class EvictionJudge {
  readonly #options: EvictionJudgeOptions;
  /** By UID, those that were chosen and are not given up. */
  readonly #victims = new Map<string, Victim>();
  /** UIDs of those that did not end in time. */
  readonly #givenUp = new Set<string>();
  #view: EvictionView | undefined;
  /** What the agent has been told since it asked the question that it is about to answer. */
  #told: MemoryUse | undefined;
  #toldOfPods: MemoryUse | undefined;
  #question = 0;
  /** Unix ms. */
  #toldAt: number;
  /** Since when the agent has seen less than the soft threshold, and when it last saw less than any. */
  #softSince: number | undefined;
  #lastBelow: number | undefined;

  constructor(options: EvictionJudgeOptions) {
    this.#options = options;
    this.#toldAt = options.now();
  }

  /** The node is to be measured; returns what is to be called with what the agent is told. */
  measures(): (use: MemoryUse, isWhole: boolean) => void {
    const question = this.#question;
    return (use, isWhole) => {
      this.#toldAt = this.#options.now();
      if (question !== this.#question) return;
      this.#told = use;
      if (isWhole) this.#toldOfPods = use;
    };
  }

  /** The eviction actor is told this while it shows that. */
  hears(event: EvictionEvent, view: EvictionView): void {
    switch (event.type) {
      case 'OBSERVE':
        if (view.pass === 'Observing') this.#begins();
        break;
      case 'EVALUATED':
        this.#evaluated();
        this.#chosen(event.evaluation.overLimit);
        this.#asks();
        break;
      case 'NODE_RECLAIMED':
        this.#asks();
        break;
      case 'RANKED':
        if (event.choice.eviction !== undefined) this.#decided(event.choice.eviction);
        break;
      case 'POD_ENDED':
        this.#ended(event.uid);
        break;
      case 'POD_FAILED':
        this.#failed(event.uid);
        break;
      case 'POD_GONE':
        this.#givenUp.delete(event.uid);
        break;
      default:
    }
  }

  /** The eviction actor shows this after that event. */
  shows(event: EvictionEvent, view: EvictionView): void {
    this.#view = view;
    if (event.type === 'EVALUATED') this.#checkPressure(view);
  }

  /** I9: who is evicted was chosen for that, and is told by a kill. */
  killed(tenant: Tenant, { options }: KillEvent): void {
    const { podStatus, podTerminationGracePeriodSecondsOverride: graceSeconds } = options ?? {};
    // The other kills of a simulation do not say why.
    if (podStatus?.reason !== EVICTED || podStatus.message === undefined) return;
    tenant.isEvicted = true;
    const victim = this.#victims.get(tenant.uid);
    if (victim === undefined || victim.isTold) {
      this.#violated('I9', tenant, 'is evicted, and was not chosen');
      return;
    }
    victim.isTold = true;
    if (graceSeconds !== victim.eviction.gracePeriodSeconds || options?.evict !== true)
      this.#violated('eviction', tenant, 'is evicted otherwise than was decided');
  }

  /** Whether pods may be turned away because the node is short of memory: that this is so is looked at in each pass. */
  get mayTurnAway(): boolean {
    return this.#view?.hasMemoryPressure === true;
  }

  /** Why eviction is not at rest, if so. */
  get unrest(): string | undefined {
    const { rules, now } = this.#options;
    if (rules === undefined) return undefined;
    if (this.#view !== undefined && this.#view.pass !== 'Observing')
      return `a pass of eviction is in ${this.#view.pass}`;
    if (now() > this.#toldAt + LONGEST_SILENCE_MS) return 'nobody looks whether memory gets short';
    return undefined;
  }

  /** A pass: it goes by what is measured from now on, once what the last one freed is really free. */
  #begins(): void {
    for (const [uid, { tenant, endedAt }] of this.#victims) {
      if (endedAt === undefined) {
        this.#violated('eviction', tenant, 'is evicted, and the next pass begins beside it');
        continue;
      }
      const isCleanedUp = tenant.state === 'Terminated.Finished';
      if (!isCleanedUp && this.#options.now() < endedAt + CLEANUP_PATIENCE_MS)
        this.#violated('eviction', tenant, `is evicted, and the next pass begins in ${tenant.state}`);
      this.#victims.delete(uid);
    }
    this.#asks();
  }

  #asks(): void {
    this.#question += 1;
    this.#told = undefined;
    this.#toldOfPods = undefined;
  }

  #evaluated(): void {
    const { now, rules } = this.#options;
    const use = this.#told;
    if (use === undefined || rules === undefined) {
      this.#violated('eviction', NODE, 'a pass goes by figures that are older than it is');
      return;
    }
    if (use.availableBytes < Math.max(rules.hardBytes, rules.softBytes)) this.#lastBelow = now();
    if (use.availableBytes < rules.softBytes) this.#softSince ??= now();
    else this.#softSince = undefined;
  }

  #checkPressure({ hasMemoryPressure }: EvictionView): void {
    const isPressure = this.#pressureEndsAt() > this.#options.now();
    if (isPressure === hasMemoryPressure) return;
    const what = isPressure
      ? 'there is no MemoryPressure, though memory is short'
      : 'MemoryPressure is stuck';
    this.#violated('eviction', NODE, what);
  }

  #pressureEndsAt(): number {
    const { pressureTransitionPeriodMs = 0 } = this.#options.rules ?? {};
    return this.#lastBelow === undefined ? -Infinity : this.#lastBelow + pressureTransitionPeriodMs;
  }

  #decided(eviction: Eviction): void {
    const victim = this.#options.tenants.get(eviction.pod.uid);
    if (victim === undefined) {
      this.#violated('eviction', eviction.pod, 'is to go, and is not known');
      return;
    }
    const use = this.#toldOfPods;
    const all = [
      this.#misplaced(victim),
      this.#beside(victim),
      use === undefined
        ? 'is chosen by figures that are older than the choice'
        : this.#unfit(victim, eviction, use),
      use && this.#overtaken(victim, use),
    ];
    for (const what of all) if (what !== undefined) this.#violated('eviction', victim, what);
    this.#chosen([eviction]);
  }

  /** Why the pod cannot be asked to go, if so. */
  #misplaced(victim: Tenant): string | undefined {
    if (this.#givenUp.has(victim.uid)) return 'is to go once more, though it has been given up';
    // One that has been ending for too long may be told to hurry.
    const isLate = this.#options.tenants.isOverdue(victim) && !isTerminated(victim.state);
    return isEnding(victim) && !isLate ? `is to go, and is in ${victim.state}` : undefined;
  }

  /** One goes at a time, and nobody while another one is about to end. */
  #beside(victim: Tenant): string | undefined {
    const { tenants } = this.#options;
    const other = tenants
      .known()
      .find(
        (tenant) =>
          tenant !== victim &&
          isEnding(tenant) &&
          !isTerminated(tenant.state) &&
          !tenants.isOverdue(tenant) &&
          tenant.graceSeconds <= NEAR_END_SECONDS &&
          !this.#givenUp.has(tenant.uid),
      );
    return other && `is to go while ${other.uid} is in ${other.state}`;
  }

  /** Why the pod need not go, or not like that, if so. */
  #unfit({ uid, pod }: Tenant, { gracePeriodSeconds }: Eviction, use: MemoryUse): string | undefined {
    const { rules, now } = this.#options;
    if (rules === undefined) return 'is to go on a node that does not evict';
    if (!use.bytesOf.has(uid)) return 'is to go, and uses nothing';
    if (use.availableBytes < rules.hardBytes && gracePeriodSeconds === 1) return undefined;
    if (use.availableBytes >= rules.softBytes) return 'is to go, and nothing is short';
    if (this.#softSince === undefined || now() < this.#softSince + rules.softGracePeriodMs)
      return 'is to go before the grace period of the soft threshold is over';
    const own = pod?.spec.terminationGracePeriodSeconds ?? Infinity;
    const allowed = Math.min(own, rules.maxPodGracePeriodSeconds);
    return gracePeriodSeconds === allowed
      ? undefined
      : `is given ${String(gracePeriodSeconds)} s to end, not ${String(allowed)} s`;
  }

  /** Who would have had to go before the pod, if somebody. */
  #overtaken(victim: Tenant, use: MemoryUse): string | undefined {
    const other = this.#options.tenants
      .known()
      .find(
        (tenant) =>
          ![isSafe(tenant), isEnding(tenant), tenant === victim, this.#givenUp.has(tenant.uid)].includes(
            true,
          ) &&
          tenant.state !== AWAITING_START &&
          use.bytesOf.has(tenant.uid) &&
          goesBefore(tenant, victim, use),
      );
    return other && `is to go before ${other.uid}`;
  }

  #chosen(evictions: readonly Eviction[]): void {
    const { now, tenants } = this.#options;
    const victims = evictions.flatMap((eviction) => {
      const tenant = tenants.get(eviction.pod.uid);
      if (tenant === undefined) return [];
      if (isSafe(tenant)) this.#violated('eviction', tenant, 'is to go, and must never');
      const deadline = now() + patienceMs(eviction.gracePeriodSeconds);
      const victim: Victim = { tenant, eviction, deadline, isTold: false, endedAt: undefined };
      this.#victims.set(tenant.uid, victim);
      return [victim];
    });
    queueMicrotask(() => {
      for (const { tenant, isTold } of victims)
        if (!isTold && !isTerminated(tenant.state))
          this.#violated('I9', tenant, 'is to go, and is not told by SyncPodKill');
    });
  }

  /** Who counts as ended has ended, and in time. */
  #ended(uid: string): void {
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

  #failed(uid: string): void {
    const victim = this.#victims.get(uid);
    if (victim === undefined) return;
    this.#victims.delete(uid);
    this.#givenUp.add(uid);
    if (this.#options.now() < victim.deadline)
      this.#violated('eviction', victim.tenant, 'is given up before its time');
  }

  #violated(...violation: Parameters<EvictionJudgeOptions['violated']>): void {
    this.#options.violated(...violation);
  }
}

/** Whether the node must not do without the pod. */
function isSafe({ pod }: Tenant): boolean {
  return pod !== undefined && (isStaticPod(pod) || isMirrorPod(pod) || isCriticalPriority(priorityOf(pod)));
}

/** Those that use more than they request first, then those of lower priority, then those that are furthest above it. */
function goesBefore(one: Tenant, other: Tenant, use: MemoryUse): boolean {
  const [a, b] = [overRequest(one, use), overRequest(other, use)];
  if (a > 0 !== b > 0) return a > 0;
  const byPriority = priorityOf(one.pod) - priorityOf(other.pod);
  return byPriority === 0 ? a > b : byPriority < 0;
}

function priorityOf(pod: Pod | undefined): number {
  return pod?.spec.priority ?? 0;
}

function overRequest({ uid, pod }: Tenant, { bytesOf }: MemoryUse): number {
  const request = pod === undefined ? 0 : countedAmount('memory', podRequest(pod, 'memory'));
  return (bytesOf.get(uid) ?? 0) - request;
}
