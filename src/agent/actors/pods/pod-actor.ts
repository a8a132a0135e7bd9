import type { AnyActorRef } from 'xstate';
import { delayOf, type PodContext, type PodEvent } from '../../machines/pod-context.ts';
import { podMachine } from '../../machines/pod-machine.ts';
import { rfc3339 } from '../../policies/formats/time.ts';
import { resyncDelayMs } from '../../policies/pod-actions/back-off.ts';
import { activeDeadline } from '../../policies/termination/pod-termination.ts';
import type { WorkQueue } from '../../../system/work-queue.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import { podFields } from '../../../types/logger.ts';
import type { Loop } from '../actor-context.ts';
import type { StartGates } from '../start/pod-starts.ts';
import { type PodMachine, referenceOf } from './pod-registry.ts';
import type { StatusManager } from './status-manager.ts';

/** The effects of a pod actor. An effect that takes time resolves to the event that says how it ended. */
export interface PodEffects {
  syncPod(context: PodContext, signal: AbortSignal): Promise<PodEvent>;
  stopPod(context: PodContext, signal: AbortSignal): Promise<PodEvent>;
  cleanUpPod(context: PodContext, signal: AbortSignal): Promise<PodEvent>;
  /** Computes the status anew from what was last read of the runtime. May be called while an effect is in flight. */
  refreshStatus(context: PodContext): void;
}

export interface PodMachineParts {
  readonly effects: PodEffects;
  readonly slots: EffectSlots;
  readonly workQueue: WorkQueue;
  readonly gates: StartGates;
  readonly statusManager: StatusManager;
  readonly loop: Loop;
  readonly syncFrequencyMs: number;
}

interface PodActionArgs {
  readonly context: PodContext;
  readonly event: PodEvent;
  readonly self: Answered;
}

interface Answered {
  getSnapshot(): { readonly status: string };
  send(event: PodEvent): void;
}

interface Failure {
  /** Of the event. */
  readonly reason: string;
  readonly what: string;
}

/** The kubelet looks at deadlines once a second. */
const PAST_DEADLINE_MS = 1000;

const SYNC_FAILURE: Failure = { reason: 'FailedSync', what: 'error syncing pod, will be tried again' };
const STOP_FAILURE: Failure = { reason: 'FailedKillPod', what: 'error killing pod' };
const CLEANUP_FAILURE: Failure = { reason: 'FailedSync', what: 'error cleaning up after the pod' };

/** The pod machine with its effects: made once per daemon, used by every pod actor. */
export function providePodMachine(context: AgentContext, parts: PodMachineParts): PodMachine {
  const { clock, random, recorder, logger } = context;
  const { effects, slots, workQueue, statusManager, loop, syncFrequencyMs } = parts;

  const failed =
    (context: PodContext, { reason, what }: Failure, event: PodEvent) =>
    (error: unknown) => {
      const reference = referenceOf(context);
      const message = `${what}: ${errorMessage(error)}`;
      recorder.event(reference, 'Warning', reason, message);
      logger.debug({ ...podFields(reference), err: error }, message);
      return event;
    };

  return podMachine.provide({
    actions: {
      // The events contain what the supervisor needs: while an action runs, the actor's snapshot is still the old one.
      ...startActions(context, parts),
      startSync: ({ context, self }) =>
        slots.start(self, {
          run: (signal) => effects.syncPod(context, signal),
          failed: failed(context, SYNC_FAILURE, {
            type: 'SYNC_FAILED',
            reason: { kind: 'failed' },
            again: false,
          }),
        }),
      abortSync: ({ self }) => slots.abort(self),
      startStop: ({ context, self }) =>
        slots.start(self, {
          run: (signal) => effects.stopPod(context, signal),
          failed: failed(context, STOP_FAILURE, { type: 'STOP_FAILED' }),
        }),
      abortStop: ({ self }) => slots.abort(self),
      startCleanup: ({ context, self }) =>
        slots.start(self, {
          run: (signal) => effects.cleanUpPod(context, signal),
          failed: failed(context, CLEANUP_FAILURE, { type: 'CLEANUP_FAILED' }),
        }),
      armResync: ({ context }) => {
        const now = clock.now();
        const delayMs = resyncDelayMs(context.lastOutcome, { syncFrequencyMs, now, random: random() });
        const deadline = context.pod && activeDeadline(context.pod, statusManager.get(context.uid));
        const untilDeadlineMs = deadline === undefined ? Infinity : deadline - now;
        // A deadline may have passed during the last sync, and the next one sees it. What has failed, a stop for example, is tried again after its back-off.
        const pastDeadlineMs = context.lastOutcome.kind === 'failed' ? Infinity : PAST_DEADLINE_MS;
        const dueMs = untilDeadlineMs > 0 ? untilDeadlineMs : pastDeadlineMs;
        workQueue.enqueue(context.uid, Math.min(delayMs, dueMs));
      },
      disarmResync: ({ context }) => workQueue.cancel(context.uid),
      reportTerminated: ({ context }) => loop.send({ type: 'POD_TERMINATED', uid: context.uid }),
      reportFinished: ({ context: { uid, restartRequested } }) =>
        loop.send({ type: 'POD_FINISHED', uid, restartRequested }),
    },
  });
}

/** The requests of a pod before it starts, and the reports of the answers. */
function startActions(
  { clock, recorder, measurements }: AgentContext,
  { gates, statusManager }: PodMachineParts,
) {
  return {
    awaitRuntime: ({ context, self }: PodActionArgs) => gates.awaitRuntime(context, answerTo(self)),
    awaitRemoval: ({ context, self }: PodActionArgs) => gates.awaitRemoval(context, answerTo(self)),
    requestName: ({ context, self }: PodActionArgs) => gates.requestName(context, answerTo(self)),
    requestRoom: ({ context, self }: PodActionArgs) => gates.requestRoom(context, answerTo(self)),
    makeRoom: ({ context, self }: PodActionArgs) => gates.makeRoom(context, answerTo(self)),
    reportDelay: ({ context: { pod, delay }, event }: PodActionArgs) => {
      const now = delayOf(event);
      // The same reason is reported once, however often the pod asks.
      if (pod === undefined || now === undefined || now.message === delay?.message) return;
      if (event.type === 'REJECTED' && event.lack !== undefined) statusManager.setWaiting(pod, event.lack);
      // A warning for a lack of room, which may never end. A name becomes free when the old pod has ended.
      recorder.event(pod.metadata, event.type === 'REJECTED' ? 'Warning' : 'Normal', now.reason, now.message);
    },
    reportAdmitted: ({ context: { pod } }: PodActionArgs) => {
      if (pod === undefined) return;
      measurements?.turnover.admitted(pod.spec.containers.length);
      statusManager.admit(pod);
    },
    reportRejected: ({ context: { pod }, event }: PodActionArgs) => {
      if (pod === undefined || event.type !== 'REJECTED') return;
      const { reason, message } = event;
      measurements?.turnover.rejected(reason);
      statusManager.reject(pod, { reason, message }, rfc3339(clock.now()));
      recorder.event(pod.metadata, 'Warning', reason, message);
    },
  };
}

/** An answer that comes after the actor has stopped is dropped: the next actor of the pod asks for itself. */
function answerTo(actor: Answered): (event: PodEvent) => void {
  return (event) => {
    if (actor.getSnapshot().status === 'active') actor.send(event);
  };
}

interface Slot {
  readonly controller: AbortController;
  readonly rest: Promise<void>;
}

export interface Effect {
  /** Resolves to the event that says how it ended; once it settles, nothing of the effect is in flight. */
  readonly run: (signal: AbortSignal) => Promise<PodEvent>;
  /** The event for an effect that rejects, unless it was aborted: that is AT_REST. */
  readonly failed: (error: unknown) => PodEvent;
}

/** The effect in flight of each pod actor: at most one (I5), which ends with exactly one event. */
export class EffectSlots {
  readonly #slots = new Map<AnyActorRef, Slot>();
  #closed = false;

  start(actor: AnyActorRef, effect: Effect): void {
    if (this.#closed) return;
    if (this.#slots.has(actor)) throw new Error('an effect of this pod is in flight already (I5)');
    const controller = new AbortController();
    const rest = this.#run(actor, effect, controller.signal);
    this.#slots.set(actor, { controller, rest });
  }

  /** Asks the effect in flight to come to rest. It still sends its event. */
  abort(actor: AnyActorRef): void {
    this.#slots.get(actor)?.controller.abort();
  }

  /** Resolves when the effect that the actor has in flight now, if any, has ended. */
  async atRest(actor: AnyActorRef): Promise<void> {
    await this.#slots.get(actor)?.rest;
  }

  /** Aborts all effects, and starts none any more; resolves when nothing is in flight. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { controller } of this.#slots.values()) controller.abort();
    await Promise.all([...this.#slots.values()].map(({ rest }) => rest));
  }

  async #run(actor: AnyActorRef, effect: Effect, signal: AbortSignal): Promise<void> {
    let outcome: PodEvent;
    try {
      // The slot is taken before the effect takes its first step.
      await Promise.resolve();
      outcome = await effect.run(signal);
    } catch (error) {
      outcome = signal.aborted ? { type: 'AT_REST' } : effect.failed(error);
    }
    this.#slots.delete(actor);
    actor.send(outcome);
  }
}
