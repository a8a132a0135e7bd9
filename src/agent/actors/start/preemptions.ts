/** The preemption actors and their effects: one actor for each pod for which room is made. */
import type { KillPodOptions } from '../../policies/termination/pod-termination.ts';
import type { ActorRefFrom } from 'xstate';
import {
  type PreemptionContext,
  type PreemptionEvent,
  preemptionMachine,
} from '../../machines/preemption-machine.ts';
import type { Admission } from '../../policies/admission/admit-pod.ts';
import { type Rejection, unexpectedAdmissionError } from '../../policies/admission/rejection.ts';
import { preemptionDelay, type StartDelay } from '../../policies/admission/start-delay.ts';
import {
  type PreemptionPlan,
  planPreemption,
  type PreemptionPlanFacts,
} from '../../policies/preemption/victim-plan.ts';
import {
  describeMissing,
  describePreemption,
  PREEMPTING,
  PREEMPTING_MESSAGE,
  PREEMPTION_KILL,
  preemptionCounterResource,
} from '../../policies/preemption/preemption-message.ts';
import { fullName } from '../../policies/pod/pod-kinds.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { PodReference } from '../../../types/event-recorder.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import { podFields } from '../../../types/logger.ts';
import type { ActorContext } from '../actor-context.ts';
import { createActor } from '../agent-actor.ts';
import { KillTimeouts, recordExceededGracePeriod } from './kill-timeouts.ts';

export type PreemptionActor = ActorRefFrom<typeof preemptionMachine>;

export interface PreemptionsParts {
  readonly podOf: (uid: string) => Pod | undefined;
  /** The facts for a plan, apart from those that the actor itself knows. */
  readonly facts: (preemptor: Pod) => Omit<PreemptionPlanFacts, 'preemptor' | 'unendable'>;
  readonly holds: (uid: string) => boolean;
  readonly kill: (uid: string, options: KillPodOptions) => void;
  /** How long a pod that was told to end may take. */
  readonly gracePeriodSeconds: (uid: string) => number;
  /** Tries admission again; an admitted pod holds its room from then on. */
  readonly admit: (uid: string) => Admission;
  readonly reject: (uid: string, rejection: Rejection) => void;
  /** These pods are ending to make room for the pod, and it waits for them. */
  readonly preempting: (uid: string, delay: StartDelay) => void;
  /** The room that was reserved for this pod is not reserved any more. */
  readonly onPromiseOver: (uid: string) => void;
}

/** Room is being made for one pod. */
interface Preemption {
  readonly actor: PreemptionActor;
  /** Time limits for the ends of the awaited pods, by UID. */
  readonly limits: KillTimeouts;
  /** Whether pods end for it. Since then, other pods may have been refused because of the room that is reserved for it. */
  hasPromised: boolean;
}

export class Preemptions {
  readonly #context: ActorContext;
  readonly #parts: PreemptionsParts;
  readonly #preemptions = new Map<string, Preemption>();
  /** The last decision that was logged, by the UID of the preemptor. */
  readonly #loggedDecisions = new Map<string, string>();
  #machine: typeof preemptionMachine | undefined;

  constructor(context: ActorContext, parts: PreemptionsParts) {
    this.#context = context;
    this.#parts = parts;
  }

  has(uid: string): boolean {
    return this.#preemptions.has(uid);
  }

  /** UIDs of the pods for which room is reserved. */
  promised(): readonly string[] {
    if (this.#preemptions.size === 0) return [];
    const promised = [...this.#preemptions].filter(([, { actor }]) =>
      actor.getSnapshot().hasTag('roomPromised'),
    );
    return promised.map(([uid]) => uid);
  }

  /** UIDs of the pods that did not end in time. No preemption counts on their room. */
  unendable(): ReadonlySet<string> {
    return new Set(
      [...this.#preemptions.values()].flatMap(({ actor }) => actor.getSnapshot().context.unendable),
    );
  }

  /** For a pod that has no preemption yet. */
  begin({ uid, name, namespace }: PodReference): void {
    const { clock, parent, inspect } = this.#context;
    this.#machine ??= this.#provide();
    const actor = createActor(this.#machine, {
      id: `preemption ${fullName({ name, namespace })} ${uid}`,
      input: { preemptor: { uid, name, namespace } },
      parent,
      inspect,
    });
    this.#preemptions.set(uid, { actor, limits: new KillTimeouts(clock), hasPromised: false });
    actor.start();
    actor.send({ type: 'PREEMPT' });
    const forgetWhenIdle = () => {
      if (actor.getSnapshot().matches('Idle')) this.#forget(uid);
    };
    actor.subscribe(forgetWhenIdle);
    forgetWhenIdle();
  }

  /** Repeats for whose end the pod waits. */
  tellAgain(uid: string): void {
    const context = this.#preemptions.get(uid)?.actor.getSnapshot().context;
    if (context !== undefined) this.#showWaiting(uid, context.decision, context.awaited);
  }

  /** The pod needs no room any more. */
  withdraw(uid: string): void {
    this.#preemptions.get(uid)?.actor.send({ type: 'PREEMPTOR_GONE' });
  }

  /** The pod holds nothing any more: it may be a victim or a preemptor. */
  ended(uid: string): void {
    this.#loggedDecisions.delete(uid);
    this.withdraw(uid);
    for (const { actor, limits } of [...this.#preemptions.values()]) {
      if (limits.lift(uid)) actor.send({ type: 'VICTIM_ENDED', uid });
    }
  }

  /** Drops all time limits. */
  stop(): void {
    for (const { limits } of this.#preemptions.values()) limits.clear();
  }

  #showWaiting(uid: string, decision: PreemptionContext['decision'], awaited: readonly string[]): void {
    const { podOf, preempting } = this.#parts;
    const ending = awaited.flatMap((other) => podOf(other)?.metadata ?? []);
    if (ending.length > 0) preempting(uid, preemptionDelay(describeMissing(decision), ending));
  }

  #forget(uid: string): void {
    const preemption = this.#preemptions.get(uid);
    if (preemption === undefined) return;
    this.#preemptions.delete(uid);
    preemption.limits.clear();
    this.#context.parent?.send({ type: 'ACTOR_FORGOTTEN', actor: preemption.actor });
    if (preemption.hasPromised) this.#parts.onPromiseOver(uid);
  }

  #provide(): typeof preemptionMachine {
    const { admit, reject } = this.#parts;
    return preemptionMachine.provide({
      actions: {
        selectVictims: ({ context, self }) => self.send(this.#planned(context)),
        reportDecision: ({ context }) => this.#report(context),
        endVictims: ({ context, self }) => this.#endVictims(context, self),
        reportFailedVictim: ({ context, event }) => this.#reportFailed(context, event),
        tryAdmission: ({ context, self }) => self.send(tried(admit(context.preemptor.uid))),
        rejectPreemptor: ({ context, self }) => {
          // Sent first: the rejection may end the pod before this event would be handled.
          self.send({ type: 'REJECTED' });
          if (context.rejection !== undefined) reject(context.preemptor.uid, context.rejection);
        },
      },
    });
  }

  /** A pod for which the plan throws is rejected, so that it does not hold up other pods. */
  #planned({ preemptor: { uid }, unendable }: PreemptionContext): PreemptionEvent {
    const { podOf, facts } = this.#parts;
    try {
      const preemptor = podOf(uid);
      if (preemptor === undefined) throw new Error('the pod is not known any more');
      const passedOver = new Set([...this.unendable(), ...unendable]);
      return planned(planPreemption({ ...facts(preemptor), preemptor, unendable: passedOver }));
    } catch (error) {
      const rejection = unexpectedAdmissionError(`preemption: ${errorMessage(error)}`);
      return { type: 'NO_VICTIMS', decision: undefined, rejection };
    }
  }

  /** A pod that waits for room asks often: only a new decision is logged. */
  #report({ preemptor, decision }: PreemptionContext): void {
    if (decision === undefined) return;
    const text = describePreemption(decision);
    if (this.#loggedDecisions.get(preemptor.uid) === text) return;
    this.#loggedDecisions.set(preemptor.uid, text);
    const { logger } = this.#context;
    const fields = { preemption_signal: preemptionCounterResource(decision), decision };
    logger.debug({ ...podFields(preemptor), ...fields }, 'How the victims were chosen');
    // No event: the kubelet records none.
    const line = `Preemption: ${text}`;
    if (decision.unmet.length > 0) logger.warn(podFields(preemptor), line);
    else logger.info(podFields(preemptor), line);
  }

  #endVictims({ preemptor, decision, awaited }: PreemptionContext, actor: Sender): void {
    const { recorder, measurements } = this.#context;
    const { kill, holds, gracePeriodSeconds } = this.#parts;
    const preemption = this.#preemptions.get(preemptor.uid);
    if (preemption === undefined) return;
    preemption.hasPromised = true;
    this.#showWaiting(preemptor.uid, decision, awaited);
    const { limits } = preemption;
    for (const uid of awaited) {
      const onOver = (problem: string) => actor.send({ type: 'VICTIM_FAILED', uid, problem });
      limits.set(uid, gracePeriodSeconds(uid), onOver);
    }
    for (const { candidate } of decision?.victims ?? []) {
      recorder.event(candidate, 'Warning', PREEMPTING, PREEMPTING_MESSAGE);
      if (decision) measurements?.turnover.preempted(preemptionCounterResource(decision));
      kill(candidate.uid, PREEMPTION_KILL);
    }
    for (const uid of awaited) if (!holds(uid)) this.ended(uid);
  }

  #reportFailed({ preemptor }: PreemptionContext, event: PreemptionEvent): void {
    if (event.type !== 'VICTIM_FAILED') return;
    const { recorder, logger } = this.#context;
    const { uid, problem } = event;
    const victim = this.#parts.podOf(uid)?.metadata;
    if (victim !== undefined) recordExceededGracePeriod(recorder, victim);
    logger.warn(
      podFields(preemptor),
      `Preemption does not wait any longer for the end of ${victim?.name ?? uid}: ${problem}`,
    );
  }
}

interface Sender {
  send(event: PreemptionEvent): void;
}

function planned(plan: PreemptionPlan): PreemptionEvent {
  if (plan.kind === 'evict')
    return { type: 'VICTIMS_SELECTED', decision: plan.decision, awaited: plan.awaited };
  return { type: 'NO_VICTIMS', decision: plan.decision, rejection: plan.rejection };
}

function tried(admission: Admission): PreemptionEvent {
  if (admission.kind === 'admitted') return { type: 'ADMITTED' };
  const { reason, message } = admission;
  return { type: admission.kind === 'short' ? 'STILL_SHORT' : 'REFUSED', rejection: { reason, message } };
}
