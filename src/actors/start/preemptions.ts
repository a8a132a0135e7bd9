/** The preemption actors, one for each pod for which room is being made, and their effects. */
import type { ActorOptions, ActorRefFrom, AnyActorRef } from 'xstate';
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
import type { KillPodOptions } from '../../policies/termination/pod-termination.ts';
import type { Clock } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import type { EventRecorder, PodReference } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import type { TurnoverMeasurements } from '../../types/measurements.ts';
import { type Logger, podFields } from '../../types/logger.ts';
import { createActor } from '../agent-actor.ts';
import { EndLimits, recordExceededGracePeriod } from './end-limits.ts';

export type PreemptionActor = ActorRefFrom<typeof preemptionMachine>;

export interface PreemptionsOptions {
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
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly turnover?: Pick<TurnoverMeasurements, 'preempted'>;
  readonly logger: Logger;
  readonly parent: AnyActorRef;
  readonly inspect?: ActorOptions<typeof preemptionMachine>['inspect'];
}

/** Room that is being made for one pod. */
interface Making {
  readonly actor: PreemptionActor;
  /** Time limits for the ends of the awaited pods, by UID. */
  readonly limits: EndLimits;
  /** Pods were told to end for it. Other pods may have been told since that there is no room. */
  hasPromised: boolean;
}

export class Preemptions {
  readonly #options: PreemptionsOptions;
  readonly #makings = new Map<string, Making>();
  /** The last decision that was logged, by the UID of the preemptor. */
  readonly #told = new Map<string, string>();
  #machine: typeof preemptionMachine | undefined;

  constructor(options: PreemptionsOptions) {
    this.#options = options;
  }

  has(uid: string): boolean {
    return this.#makings.has(uid);
  }

  /** UIDs of the pods for which room is reserved. */
  promised(): readonly string[] {
    if (this.#makings.size === 0) return [];
    const promised = [...this.#makings].filter(([, { actor }]) => actor.getSnapshot().hasTag('roomPromised'));
    return promised.map(([uid]) => uid);
  }

  /** UIDs of the pods that did not end in time. No preemption counts on their room. */
  unendable(): ReadonlySet<string> {
    return new Set([...this.#makings.values()].flatMap(({ actor }) => actor.getSnapshot().context.unendable));
  }

  /** For a pod that has no preemption yet. */
  begin({ uid, name, namespace }: PodReference): void {
    const { parent, inspect } = this.#options;
    this.#machine ??= this.#provide();
    const actor = createActor(this.#machine, {
      id: `preemption ${fullName({ name, namespace })} ${uid}`,
      input: { preemptor: { uid, name, namespace } },
      parent,
      ...(inspect && { inspect }),
    });
    this.#makings.set(uid, { actor, limits: new EndLimits(this.#options.clock), hasPromised: false });
    actor.start();
    actor.send({ type: 'PREEMPT' });
    const forgetWhenIdle = () => {
      if (actor.getSnapshot().matches('Idle')) this.#forget(uid);
    };
    actor.subscribe(forgetWhenIdle);
    forgetWhenIdle();
  }

  /** Says once more for whose end the pod waits. */
  tellAgain(uid: string): void {
    const context = this.#makings.get(uid)?.actor.getSnapshot().context;
    if (context !== undefined) this.#tell(uid, context.decision, context.awaited);
  }

  /** The pod holds nothing any more: it may be a victim or a preemptor. */
  ended(uid: string): void {
    this.#told.delete(uid);
    this.#makings.get(uid)?.actor.send({ type: 'PREEMPTOR_GONE' });
    for (const { actor, limits } of [...this.#makings.values()]) {
      if (limits.lift(uid)) actor.send({ type: 'VICTIM_ENDED', uid });
    }
  }

  /** Drops all time limits. */
  stop(): void {
    for (const { limits } of this.#makings.values()) limits.clear();
  }

  #tell(uid: string, decision: PreemptionContext['decision'], awaited: readonly string[]): void {
    const { podOf, preempting } = this.#options;
    const ending = awaited.flatMap((other) => podOf(other)?.metadata ?? []);
    if (ending.length > 0) preempting(uid, preemptionDelay(describeMissing(decision), ending));
  }

  #forget(uid: string): void {
    const making = this.#makings.get(uid);
    if (making === undefined) return;
    this.#makings.delete(uid);
    making.limits.clear();
    this.#options.parent.send({ type: 'ACTOR_FORGOTTEN', actor: making.actor });
    if (making.hasPromised) this.#options.onPromiseOver(uid);
  }

  #provide(): typeof preemptionMachine {
    const { admit, reject } = this.#options;
    return preemptionMachine.provide({
      actions: {
        selectVictims: ({ context, self }) => self.send(this.#planned(context)),
        reportDecision: ({ context }) => this.#report(context),
        endVictims: ({ context, self }) => this.#endVictims(context, self),
        reportFailedVictim: ({ context, event }) => this.#reportFailed(context, event),
        tryAdmission: ({ context, self }) => self.send(tried(admit(context.preemptor.uid))),
        rejectPreemptor: ({ context, self }) => {
          // Sent first: a rejected pod may have ended before this event would be handled.
          self.send({ type: 'REJECTED' });
          if (context.rejection !== undefined) reject(context.preemptor.uid, context.rejection);
        },
      },
    });
  }

  /** A pod for which the plan throws is rejected, so that it does not hold up other pods. */
  #planned({ preemptor: { uid }, unendable }: PreemptionContext): PreemptionEvent {
    const { podOf, facts } = this.#options;
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
    if (this.#told.get(preemptor.uid) === text) return;
    this.#told.set(preemptor.uid, text);
    const { logger } = this.#options;
    const fields = { preemption_signal: preemptionCounterResource(decision), decision };
    logger.debug({ ...podFields(preemptor), ...fields }, 'How the victims were chosen');
    // No event: the kubelet records none.
    const line = `Preemption: ${text}`;
    if (decision.unmet.length > 0) logger.warn(podFields(preemptor), line);
    else logger.info(podFields(preemptor), line);
  }

  #endVictims({ preemptor, decision, awaited }: PreemptionContext, actor: Sender): void {
    const { recorder, turnover, kill, holds, gracePeriodSeconds } = this.#options;
    const making = this.#makings.get(preemptor.uid);
    if (making === undefined) return;
    making.hasPromised = true;
    this.#tell(preemptor.uid, decision, awaited);
    const { limits } = making;
    for (const uid of awaited) {
      const onOver = (problem: string) => actor.send({ type: 'VICTIM_FAILED', uid, problem });
      limits.set(uid, gracePeriodSeconds(uid), onOver);
    }
    for (const { candidate } of decision?.victims ?? []) {
      recorder.event(candidate, 'Warning', PREEMPTING, PREEMPTING_MESSAGE);
      if (decision) turnover?.preempted(preemptionCounterResource(decision));
      kill(candidate.uid, PREEMPTION_KILL);
    }
    for (const uid of awaited) if (!holds(uid)) this.ended(uid);
  }

  #reportFailed({ preemptor }: PreemptionContext, event: PreemptionEvent): void {
    if (event.type !== 'VICTIM_FAILED') return;
    const { recorder, logger, podOf } = this.#options;
    const { uid, problem } = event;
    const victim = podOf(uid)?.metadata;
    if (victim !== undefined) recordExceededGracePeriod(recorder, victim);
    logger.warn(podFields(preemptor), `Goes on without the end of ${victim?.name ?? uid}: ${problem}`);
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
