import { podMachine, type PodContext, type PodEvent } from '../../machines/pod-machine.ts';
import { activeDeadline } from '../../policies/sync/active-deadline.ts';
import { resyncDelayMs } from '../../policies/sync/resync.ts';
import type { SupervisorEvent } from '../../machines/supervisor-machine.ts';
import type { Clock } from '../../types/clock.ts';
import { errorMessage } from '../../types/errors.ts';
import type { EventRecorder } from '../../types/event-recorder.ts';
import { type Logger, podFields } from '../../types/logger.ts';
import type { EffectSlots } from './effect-slots.ts';
import type { KillWaiters } from './kill-waiters.ts';
import { referenceOf } from './pod-reference.ts';
import type { PodMachine } from './pod-registry.ts';
import type { StatusManager } from './status-manager.ts';
import type { WorkQueue } from './work-queue.ts';

/** What a pod actor can do in the world. Each that takes time resolves to the event that tells the outcome. */
export interface PodEffects {
  syncPod(context: PodContext, signal: AbortSignal): Promise<PodEvent>;
  stopPod(context: PodContext, signal: AbortSignal): Promise<PodEvent>;
  cleanUpPod(context: PodContext, signal: AbortSignal): Promise<PodEvent>;
  /** Brings the status up to date with what is known besides the runtime's view: no effect, may be done beside one. */
  refreshStatus(context: PodContext): void;
}

export interface PodActorDeps {
  readonly effects: PodEffects;
  readonly slots: EffectSlots;
  readonly workQueue: WorkQueue;
  readonly waiters: KillWaiters;
  readonly statusManager: StatusManager;
  readonly supervisor: { send(event: SupervisorEvent): void };
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly syncFrequencyMs: number;
  readonly recorder: EventRecorder;
  readonly logger: Logger;
}

interface Failure {
  /** Of the event. */
  readonly reason: string;
  readonly what: string;
}

const SYNC_FAILURE: Failure = { reason: 'FailedSync', what: 'error syncing pod, will be tried again' };
const STOP_FAILURE: Failure = { reason: 'FailedKillPod', what: 'error killing pod' };
const CLEANUP_FAILURE: Failure = { reason: 'FailedSync', what: 'error cleaning up after the pod' };

/** The pod machine with its effects: made once per daemon, used by every pod actor. */
export function providePodMachine(deps: PodActorDeps): PodMachine {
  const { effects, slots, workQueue, waiters, statusManager, supervisor, clock, random } = deps;
  const { syncFrequencyMs, recorder, logger } = deps;

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
      // What the supervisor has to know is in the events: while an action runs, the actor's snapshot is still the old one.
      requestStart: ({ context: { pod } }) => {
        if (pod !== undefined) supervisor.send({ type: 'START_REQUESTED', pod });
      },
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
        // One that has passed was seen by the last sync, or that failed and is tried again in its own time.
        const isAhead = deadline !== undefined && deadline > now;
        workQueue.enqueue(context.uid, isAhead ? Math.min(delayMs, deadline - now) : delayMs);
      },
      disarmResync: ({ context }) => workQueue.cancel(context.uid),
      answerWaiters: ({ context }) => {
        for (const waiter of context.waiters) waiters.answer(waiter);
      },
      answerThisWaiter: ({ event }) => {
        const waiter = event.type === 'SyncPodKill' ? event.options?.waiter : undefined;
        if (waiter !== undefined) waiters.answer(waiter);
      },
      reportTerminated: ({ context }) => supervisor.send({ type: 'POD_TERMINATED', uid: context.uid }),
      reportFinished: ({ context: { uid, restartRequested } }) =>
        supervisor.send({ type: 'POD_FINISHED', uid, restartRequested }),
    },
  });
}
