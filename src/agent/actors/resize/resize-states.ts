import { rfc3339 } from '../../policies/formats/time.ts';
import {
  type ResizeConditions,
  withoutPending,
  withWritten,
} from '../../policies/resize/resize-conditions.ts';
import { isAllocated, type PodAllocation } from '../../policies/resize/allocation.ts';
import {
  decideResize,
  failedResize,
  progressOfResize,
  type ResizeDecision,
  type ResizeEvent,
  type ResizeRefusal,
} from '../../policies/resize/resize-decision.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { Pod } from '../../../types/kubernetes.ts';

/** How far changes of the resources of pods have come, by UID: the conditions of their statuses, and the events. */
export class ResizeStates {
  readonly #context: AgentContext;
  readonly #conditions = new Map<string, ResizeConditions>();
  /** What was granted last, while it is in progress: a sync of an earlier version of the pod says nothing of it. */
  readonly #granted = new Map<string, PodAllocation>();

  constructor(context: AgentContext) {
    this.#context = context;
  }

  conditionsOf(uid: string): ResizeConditions {
    return this.#conditions.get(uid) ?? {};
  }

  /** A former agent has written how far it had come. */
  recall({ metadata: { uid }, status }: Pod): void {
    this.#keep(uid, withWritten(this.conditionsOf(uid), status?.conditions, this.#now()));
  }

  /** `refuse`: why the node does not grant what the pod asks for, if so. */
  decide(desired: Pod, allocation: PodAllocation, refuse: () => ResizeRefusal | undefined): ResizeDecision {
    const conditions = this.conditionsOf(desired.metadata.uid);
    const decision = decideResize(desired, { allocation, conditions }, refuse, this.#now());
    this.#take(desired, decision);
    if (decision.resized) this.#granted.set(desired.metadata.uid, decision.allocation);
    return decision;
  }

  /** The spec asks for what the pod has been granted. */
  withdrawn({ metadata: { uid } }: Pod): void {
    this.#keep(uid, withoutPending(this.conditionsOf(uid)));
  }

  /** `isInProgress`: something that runs does not have yet what the pod, as allocated, has been granted. */
  progress(pod: Pod, isInProgress: boolean): void {
    const { uid } = pod.metadata;
    const before = this.conditionsOf(uid);
    const granted = this.#granted.get(uid);
    if (!isInProgress && before.inProgress === undefined) return;
    if (granted !== undefined && !isAllocated(pod, granted)) return;
    this.#take(pod, progressOfResize(pod, before, isInProgress, this.#now()));
    if (!isInProgress) this.#granted.delete(uid);
  }

  failed(pod: Pod, message: string): void {
    this.#take(pod, failedResize(pod, this.conditionsOf(pod.metadata.uid), message, this.#now()));
  }

  forget(uid: string): void {
    this.#conditions.delete(uid);
    this.#granted.delete(uid);
  }

  #take(
    { metadata }: Pod,
    news: { readonly conditions: ResizeConditions; readonly events: readonly ResizeEvent[] },
  ): void {
    this.#keep(metadata.uid, news.conditions);
    for (const { type, reason, message } of news.events)
      this.#context.recorder.event(metadata, type, reason, message);
  }

  #keep(uid: string, conditions: ResizeConditions): void {
    if (conditions.pending ?? conditions.inProgress) this.#conditions.set(uid, conditions);
    else this.#conditions.delete(uid);
  }

  #now(): string {
    return rfc3339(this.#context.clock.now());
  }
}
