/** Holds what an agent makes of the room on its node against what the pods really take of it. */
import type { PodSnapshot } from '../../actors/pods/pod-registry.ts';
import type { PodEvent } from '../../machines/pod-machine.ts';
import type { PreemptionEvent } from '../../machines/preemption-machine.ts';
import { EVICTED } from '../../policies/eviction/eviction-message.ts';
import { isCriticalPod, isPreemptable, isStaticPod } from '../../policies/pod/pod-kinds.ts';
import type { Pod, PodStatus } from '../../types/kubernetes.ts';
import type { NodeFacts } from '../../types/node-facts.ts';
import { EvictionJudge, type EvictionTruth } from './eviction-judge.ts';
import type { Violation } from './judge.ts';
import { AWAITING_START } from './pod-states.ts';
import { mayPreempt, PreemptionJudge } from './preemption-judge.ts';
import { shortages, takenPorts } from './room.ts';
import { isEnding, isTerminated, podsOf, type Tenant, Tenants } from './tenants.ts';

export interface RoomJudgeOptions {
  readonly node: number;
  readonly now: () => number;
  readonly nodeFacts: () => NodeFacts;
  readonly isRunning: (uid: string) => boolean;
  /** UIDs of what ran when the agent came. */
  readonly found: Iterable<string>;
  /** Undefined on a node that does not evict. */
  readonly eviction?: EvictionTruth | undefined;
  readonly onViolation: (violation: Violation) => void;
}

interface Subject {
  readonly uid: string;
  readonly pod?: Pod | undefined;
}

/** The judge of one life of an agent: what was there before it has its room, however little of it there is. */
export class RoomJudge {
  /** Undefined on a node that does not evict. */
  readonly evictions: EvictionJudge | undefined;
  readonly #options: RoomJudgeOptions;
  readonly #tenants: Tenants;
  readonly #preemptions: PreemptionJudge;
  readonly #found: ReadonlySet<string>;

  constructor(options: RoomJudgeOptions) {
    this.#options = options;
    const { now, nodeFacts, found, eviction } = options;
    this.#found = new Set(found);
    this.#tenants = new Tenants(options);
    this.#preemptions = new PreemptionJudge({
      ...{ now, nodeFacts, tenants: this.#tenants },
      violated: (invariant, tenant, what) => this.#violated(invariant, tenant, what),
    });
    this.evictions =
      eviction &&
      new EvictionJudge({
        ...{ now, truth: eviction, tenants: this.#tenants },
        violated: (invariant, subject, what) => this.#violated(invariant, subject, what),
      });
  }

  /** A pod's actor shows this after that event. */
  sees(actor: object, snapshot: PodSnapshot, event: PodEvent): void {
    const before = this.#tenants.get(snapshot.context.uid);
    const state = before?.actor === actor ? before.state : AWAITING_START;
    const tenant = this.#tenants.update(actor, snapshot);
    if (event.type === 'START_GRANTED') this.#takesPlace(tenant);
    if (event.type === 'SyncPodKill') {
      this.#preemptions.killed(tenant, event);
      this.evictions?.killed(tenant, event);
    }
    if (event.type === 'SyncPodUpdate' && state === AWAITING_START && event.pod.status?.phase === 'Failed')
      this.#checkRejection(tenant, event.pod.status);
  }

  /** An actor that makes room for the pod is told this. */
  hears(uid: string, event: PreemptionEvent): void {
    this.#preemptions.hears(uid, event);
    const tenant = this.#tenants.get(uid);
    if (event.type === 'ADMITTED' && tenant !== undefined) this.#takesPlace(tenant);
  }

  /** Something of the pod has been started by a call that nobody waits for any more. */
  landedLate(uid: string): void {
    this.#tenants.landedLate(uid);
  }

  /** The pod, as this agent has had it last. */
  tenant(uid: string): Readonly<Tenant> | undefined {
    return this.#tenants.get(uid);
  }

  /** Whether the pod was ended for another one or for the node's sake, or never let in. */
  hasReasonToEnd(uid: string): boolean {
    const { isPreempted = false, evictedFor, rejection } = this.#tenants.get(uid) ?? {};
    return isPreempted || evictedFor !== undefined || rejection !== undefined;
  }

  /** Why a pod that waits for its start must not, once nothing happens any more. */
  idleness(uid: string): string | undefined {
    const { pod } = this.#tenants.get(uid) ?? {};
    if (pod === undefined || !isStaticPod(pod)) return 'waits for its start, and stays there';
    if (this.#wasFound(uid)) return 'waits for room, and runs';
    const isIdle = this.#couldFit(pod, podsOf(this.#tenants.possibleHolders()), []);
    return isIdle ? 'waits for room that it could have' : undefined;
  }

  /** The name of a pod for which room is still being made, if there is one. */
  get unsettled(): string | undefined {
    return this.#preemptions.unsettled;
  }

  /** A pod comes where there is room for it, beside all that may still run, and leaves to others what they were promised. */
  #takesPlace(tenant: Tenant): void {
    const { hasPlace, isStranger } = tenant;
    tenant.hasPlace = true;
    if (isEnding(tenant)) this.#violated('admission', tenant, `is admitted in ${tenant.state}`);
    if (hasPlace || isStranger) return;
    if (tenant.pod !== undefined && this.evictions?.turnsAway(tenant.pod) === true)
      this.#violated('admission', tenant, 'is admitted, though the node is short of something');
    const others = this.#tenants.holders().filter((other) => other !== tenant);
    const promised = this.#preemptions.promised().filter((other) => other !== tenant);
    const later = others.filter((other) => !isEnding(other));
    const { allocatable } = this.#options.nodeFacts();
    const lacks = (all: readonly Tenant[]) => {
      const there = all.filter(({ state }) => !isTerminated(state));
      return tenant.pod === undefined ? [] : shortages(tenant.pod, podsOf(there), allocatable);
    };
    // Who has ended to let it in shows that a moment later. Those that it could push out have nothing from it to expect.
    queueMicrotask(() => {
      const short = lacks(others);
      if (short.length > 0) this.#violated('admission', tenant, `is admitted, and short of ${short.join()}`);
      const waiting = promised.filter((other) => !mayPreempt(tenant, other));
      const taken = waiting.length === 0 ? [] : lacks([...later, ...waiting]);
      if (taken.length > 0)
        this.#violated('preemption', tenant, `takes what is promised to another pod: ${taken.join()}`);
    });
  }

  /** A pod is not let in for a reason that is true, and before it has started. */
  #checkRejection(tenant: Tenant, { reason = '' }: PodStatus): void {
    const { uid, pod, hasPlace } = tenant;
    if (pod === undefined) return;
    tenant.rejection = reason;
    if (hasPlace) this.#violated('admission', tenant, `is rejected after it was admitted: ${reason}`);
    if (this.#wasFound(uid) && reason !== 'NodeAffinity')
      this.#violated('admission', tenant, `is rejected with ${reason}, and ran before`);
    if (reason === EVICTED) {
      if (this.evictions?.turnsAway(pod) !== true)
        this.#violated(
          'admission',
          tenant,
          'is turned away because of a pressure that it does not bring about',
        );
      return;
    }
    const others = this.#tenants.possibleHolders().filter((other) => other !== tenant);
    const promised = this.#preemptions.promised().filter((other) => other !== tenant);
    const what = this.#isTrue(reason, pod, podsOf(others), podsOf(promised));
    if (what !== undefined) this.#violated('admission', tenant, `is rejected with ${reason}, ${what}`);
  }

  /** What runs since before this agent came has its room. */
  #wasFound(uid: string): boolean {
    return this.#found.has(uid) && this.#options.isRunning(uid);
  }

  /** What is not true of the reason, if anything. */
  #isTrue(reason: string, pod: Pod, others: readonly Pod[], promised: readonly Pod[]): string | undefined {
    if (reason === 'NodeAffinity')
      return pod.spec.nodeSelector === undefined ? 'and is not choosy' : undefined;
    if (reason === 'UnexpectedAdmissionError')
      return this.#couldFit(pod, others, promised) ? 'and could have room' : undefined;
    const short = shortages(pod, [...others, ...promised], this.#options.nodeFacts().allocatable);
    const isTrue = short.some((name) => reason === (name.startsWith('port ') ? 'NodePorts' : `OutOf${name}`));
    return isTrue ? undefined : `and is short of ${short.join() || 'nothing'}`;
  }

  /** Whether there is room for the pod, or can be made by ending others. Those that only wait for theirs cannot be ended. */
  #couldFit(pod: Pod, others: readonly Pod[], promised: readonly Pod[]): boolean {
    if (takenPorts(pod, [...others, ...promised]).length > 0 || pod.spec.nodeSelector !== undefined)
      return false;
    const lasting = isCriticalPod(pod) ? others.filter((other) => !this.#mayGo(pod, other)) : others;
    return shortages(pod, [...lasting, ...promised], this.#options.nodeFacts().allocatable).length === 0;
  }

  #mayGo(pod: Pod, other: Pod): boolean {
    const tenant = this.#tenants.get(other.metadata.uid);
    return isPreemptable(pod, other) && (tenant === undefined || !this.#tenants.isOverdue(tenant));
  }

  #violated(invariant: string, { uid, pod }: Subject, what: string): void {
    const { node, onViolation } = this.#options;
    onViolation({ invariant, node, uid, what, ...(pod && { name: pod.metadata.name }) });
  }
}
