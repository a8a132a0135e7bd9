import type { ActorRefFrom } from 'xstate';
import { type ResizeMachineEvent, resizeMachine } from '../../machines/resize-machine.ts';
import { rfc3339 } from '../../policies/formats/time.ts';
import {
  type ResizeConditions,
  withoutPending,
  withWritten,
} from '../../policies/resize/resize-conditions.ts';
import { isAllocated } from '../../policies/resize/allocation.ts';
import {
  decideResize,
  failedResize,
  progressOfResize,
  type ResizeDecision,
  type ResizeEvent,
  type ResizeRefusal,
} from '../../policies/resize/resize-decision.ts';
import { fullName } from '../../policies/pod/pod-kinds.ts';
import type { PodReference } from '../../../types/event-recorder.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { PodAllocation } from '../../../types/runtime-pod.ts';
import type { ActorContext } from '../actor-context.ts';
import { agentActor } from '../agent-actor.ts';

type ResizeActor = ActorRefFrom<typeof resizeMachine>;

/** The actors of resizes, one for each pod whose resize is not complete. */
export class ResizeStates {
  readonly #context: ActorContext;
  readonly #actors = new Map<string, ResizeActor>();
  /** Granted resources while a resize is in progress. A sync of an earlier version of the pod cannot complete it. */
  readonly #granted = new Map<string, PodAllocation>();

  constructor(context: ActorContext) {
    this.#context = context;
  }

  conditionsOf(uid: string): ResizeConditions {
    return this.#actors.get(uid)?.getSnapshot().context.conditions ?? {};
  }

  /** The spec requests other resources than were granted. */
  asked({ metadata }: Pod): void {
    this.#send(metadata, 'ASKED', this.conditionsOf(metadata.uid));
  }

  /** A former agent has left conditions of a resize in the pod's status. */
  recall({ metadata, status }: Pod): void {
    const conditions = withWritten(this.conditionsOf(metadata.uid), status?.conditions, this.#now());
    this.#send(metadata, 'RECALLED', conditions);
  }

  /** `refuse`: returns why the node does not grant the resize, if so. */
  decide(desired: Pod, allocation: PodAllocation, refuse: () => ResizeRefusal | undefined): ResizeDecision {
    const { metadata } = desired;
    const before = this.conditionsOf(metadata.uid);
    const decision = decideResize(desired, { allocation, conditions: before }, refuse, this.#now());
    const { resized, conditions } = decision;
    if (resized) this.#granted.set(metadata.uid, decision.allocation);
    const refusal = conditions.pending === undefined ? 'WITHDRAWN' : 'REFUSED';
    if (resized || conditions !== before) this.#take(metadata, resized ? 'GRANTED' : refusal, decision);
    return decision;
  }

  /** The spec requests the granted resources again. */
  withdrawn({ metadata }: Pod): void {
    if (this.#actors.has(metadata.uid))
      this.#send(metadata, 'WITHDRAWN', withoutPending(this.conditionsOf(metadata.uid)));
  }

  /** `isInProgress`: not all running containers have the granted resources yet. `pod`: as allocated. */
  progress(pod: Pod, isInProgress: boolean): void {
    const { uid } = pod.metadata;
    const before = this.conditionsOf(uid);
    const granted = this.#granted.get(uid);
    if (!isInProgress && before.inProgress === undefined) return;
    if (granted !== undefined && !isAllocated(pod, granted)) return;
    if (!isInProgress) this.#granted.delete(uid);
    const news = progressOfResize(pod, before, isInProgress, this.#now());
    this.#take(pod.metadata, isInProgress ? 'UNDER_WAY' : 'ACTUATED', news);
  }

  failed(pod: Pod, message: string): void {
    const { metadata } = pod;
    this.#take(metadata, 'FAILED', failedResize(pod, this.conditionsOf(metadata.uid), message, this.#now()));
  }

  forget(uid: string): void {
    this.#granted.delete(uid);
    const actor = this.#actors.get(uid);
    if (actor === undefined) return;
    this.#actors.delete(uid);
    this.#context.parent?.send({ type: 'ACTOR_FORGOTTEN', actor });
  }

  #take(
    pod: PodReference,
    type: ResizeMachineEvent['type'],
    {
      conditions,
      events,
    }: { readonly conditions: ResizeConditions; readonly events: readonly ResizeEvent[] },
  ): void {
    this.#send(pod, type, conditions);
    for (const { type, reason, message } of events) this.#context.recorder.event(pod, type, reason, message);
  }

  /** The actor ends when the resize is complete. */
  #send(pod: PodReference, type: ResizeMachineEvent['type'], conditions: ResizeConditions): void {
    const actor = this.#actors.get(pod.uid) ?? this.#begin(pod);
    actor.send({ type, conditions });
    const isOver = actor.getSnapshot().matches({ Request: 'Granted', Actuation: 'Actuated' });
    if (isOver) this.forget(pod.uid);
  }

  #begin(pod: PodReference): ResizeActor {
    const name = fullName(pod);
    const title = `the resize of ${name}`;
    const actor = agentActor(this.#context, resizeMachine, { id: `resize ${name} ${pod.uid}`, title });
    this.#actors.set(pod.uid, actor);
    actor.start();
    return actor;
  }

  #now(): string {
    return rfc3339(this.#context.clock.now());
  }
}
