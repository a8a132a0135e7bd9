/** Who is having room made for it, and what these actors do in the world. */
import { type ActorOptions, type ActorRefFrom, type AnyActorRef, createActor } from 'xstate';
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
import type { KillPodOptions } from '../../policies/sync/pod-termination.ts';
import type { Clock } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import type { EventRecorder, PodReference } from '../../types/event-recorder.ts';
import type { Pod } from '../../types/kubernetes.ts';
import { type Logger, podFields } from '../../types/logger.ts';
import { EndLimits, recordExceededGracePeriod } from './end-limits.ts';

export type PreemptionActor = ActorRefFrom<typeof preemptionMachine>;

export interface PreemptionsOptions {
  readonly podOf: (uid: string) => Pod | undefined;
  /** What a plan for the pod is made from, apart from what the actor itself knows. */
  readonly facts: (preemptor: Pod) => Omit<PreemptionPlanFacts, 'preemptor' | 'unendable'>;
  readonly holds: (uid: string) => boolean;
  readonly kill: (uid: string, options: KillPodOptions) => void;
  /** Seconds that a pod which has been asked to end may still take. */
  readonly gracePeriodSeconds: (uid: string) => number;
  /** Tries again, and takes the room where there is enough. */
  readonly admit: (uid: string) => Admission;
  readonly reject: (uid: string, rejection: Rejection) => void;
  /** These pods are ending to make room for the pod, and it waits for them. */
  readonly preempting: (uid: string, delay: StartDelay) => void;
  /** Room was promised to this pod, and is no longer. */
  readonly onPromiseOver: (uid: string) => void;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
  readonly parent: AnyActorRef;
  readonly inspect?: ActorOptions<typeof preemptionMachine>['inspect'];
}

/** Room that is being made for one pod. */
interface Making {
  readonly actor: PreemptionActor;
  /** How long those that are awaited may take yet, by UID. */
  readonly limits: EndLimits;
  /** Somebody was asked to end for it: meanwhile others may have been told that there is no room. */
  hasPromised: boolean;
}

export class Preemptions {
  readonly #options: PreemptionsOptions;
  readonly #makings = new Map<string, Making>();
  /** The last decision that was told of, by the UID of the pod that it was made for. */
  readonly #told = new Map<string, string>();
  #machine: typeof preemptionMachine | undefined;

  constructor(options: PreemptionsOptions) {
    this.#options = options;
  }

  has(uid: string): boolean {
    return this.#makings.has(uid);
  }

  /** UIDs of the pods that room is promised to. */
  promised(): readonly string[] {
    if (this.#makings.size === 0) return [];
    const promised = [...this.#makings].filter(([, { actor }]) => actor.getSnapshot().hasTag('roomPromised'));
    return promised.map(([uid]) => uid);
  }

  /** UIDs of the pods that somebody has waited for in vain: nobody else counts on their room either. */
  unendable(): ReadonlySet<string> {
    return new Set([...this.#makings.values()].flatMap(({ actor }) => actor.getSnapshot().context.unendable));
  }

  /** For a pod for which none is being made yet. */
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

  /** The pod holds nothing any more: it may be a victim, it may be one that room was being made for. */
  ended(uid: string): void {
    this.#told.delete(uid);
    this.#makings.get(uid)?.actor.send({ type: 'PREEMPTOR_GONE' });
    for (const { actor, limits } of [...this.#makings.values()]) {
      if (limits.lift(uid)) actor.send({ type: 'VICTIM_ENDED', uid });
    }
  }

  /** Nobody is waited for any more. */
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
          // First: a pod that is rejected ends, and may have ended by the time that this is heard.
          self.send({ type: 'REJECTED' });
          if (context.rejection !== undefined) reject(context.preemptor.uid, context.rejection);
        },
      },
    });
  }

  /** What cannot be worked out must not hold up the others. */
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

  /** One that waits for room asks often, and mostly there is nothing new to say. */
  #report({ preemptor, decision }: PreemptionContext): void {
    if (decision === undefined) return;
    const text = describePreemption(decision);
    if (this.#told.get(preemptor.uid) === text) return;
    this.#told.set(preemptor.uid, text);
    const { logger } = this.#options;
    const fields = { preemption_signal: preemptionCounterResource(decision), decision };
    logger.debug({ ...podFields(preemptor), ...fields }, 'How the victims were chosen');
    // No event: the kubelet has none, and an API server would keep it.
    const line = `Preemption: ${text}`;
    if (decision.unmet.length > 0) logger.warn(podFields(preemptor), line);
    else logger.info(podFields(preemptor), line);
  }

  #endVictims({ preemptor, decision, awaited }: PreemptionContext, actor: Sender): void {
    const { recorder, kill, holds, gracePeriodSeconds } = this.#options;
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
