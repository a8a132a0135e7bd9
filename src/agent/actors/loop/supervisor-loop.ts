/** The actor of the supervisor's chart: the root of all other actors of the node. The handlers of its events have the kubelet's names. */
import type { ActorRefFrom } from 'xstate';
import { supervisorMachine, type SupervisorEvent } from '../../machines/supervisor-machine.ts';
import type { ActorContext } from '../actor-context.ts';
import { createActor } from '../agent-actor.ts';
import type { PodLifecycle } from '../pods/pod-lifecycle.ts';
import type { PodWakeUps } from './pod-wake-ups.ts';
import type { SourceChanges } from './source-changes.ts';

const ACTOR_ERROR = 'xstate.error.actor.';

/** Who handles the events of the loop. */
export interface LoopHandlers {
  readonly sources: SourceChanges;
  readonly wakeUps: PodWakeUps;
  readonly lifecycle: PodLifecycle;
  readonly onStopped: () => void;
}

type EventOf<Type extends SupervisorEvent['type']> = Extract<SupervisorEvent, { type: Type }>;

export class SupervisorLoop {
  readonly actor: ActorRefFrom<typeof supervisorMachine>;
  /** Of the actors below this one. */
  readonly context: ActorContext;
  #handlers: LoopHandlers | undefined;

  /** `sources`: each must be seen once before anything is removed. */
  constructor(context: ActorContext, sources: readonly string[]) {
    const { clock, inspect } = context;
    this.actor = createActor(this.#machine(), { id: 'supervisor', input: { sources }, clock, inspect });
    this.context = { ...context, parent: this.actor };
  }

  /** Whether every source has been seen. */
  get synced(): boolean {
    return this.actor.getSnapshot().matches({ Sources: 'Ready' });
  }

  /** Why the runtime is not ready, if so. */
  get runtimeProblem(): string | undefined {
    return this.actor.getSnapshot().context.runtimeProblem;
  }

  /** The handlers need this actor, so they are made after it. */
  start(handlers: LoopHandlers): void {
    this.#handlers = handlers;
    this.actor.start();
  }

  /** An event that comes before the start is handled at the start. */
  send(event: SupervisorEvent): void {
    this.actor.send(event);
  }

  #machine(): typeof supervisorMachine {
    /** A handler for the events that the chart passes to it. */
    const on =
      <Type extends SupervisorEvent['type']>(handle: (by: LoopHandlers, event: EventOf<Type>) => void) =>
      ({ event }: { event: SupervisorEvent }): void => {
        if (this.#handlers !== undefined) handle(this.#handlers, event as EventOf<Type>);
      };

    return supervisorMachine.provide({
      actions: {
        handlePodAdditions: on<'CONFIG.ADD'>(({ sources }, event) => sources.add(event.pods, event.source)),
        handlePodUpdates: on<'CONFIG.UPDATE'>(({ sources }, { pods }) =>
          pods.forEach((pod) => sources.update(pod)),
        ),
        dropDesiredPods: on<'CONFIG.REMOVE'>(({ sources }, { pods }) =>
          pods.forEach((pod) => sources.drop(pod)),
        ),
        handlePodRemoves: on<'CONFIG.REMOVE'>(({ sources }, event) =>
          sources.remove(event.pods, event.source),
        ),
        handlePodReconcile: on<'CONFIG.RECONCILE'>(({ sources }, { pods }) =>
          pods.forEach((pod) => sources.reconcile(pod)),
        ),
        handlePodLifecycleEvents: on<'PLEG'>(({ wakeUps }, { uid }) => wakeUps.runtimeChanged(uid)),
        handlePodSyncs: on<'SYNC'>(({ wakeUps }, { uids }) => uids.forEach((uid) => wakeUps.sync(uid))),
        handleProbeResult: on<'PROBE'>(({ wakeUps }, { uid }) => wakeUps.probed(uid)),
        handlePodCleanups: on<'HOUSEKEEPING'>(({ lifecycle }) => lifecycle.cleanUp()),
        handlePodTerminated: on<'POD_TERMINATED'>(({ lifecycle }, { uid }) => lifecycle.terminated(uid)),
        handlePodFinished: on<'POD_FINISHED'>(({ lifecycle }, { uid, restartRequested }) =>
          lifecycle.finished(uid, restartRequested),
        ),
        handlePodError: ({ event }) => {
          const error: unknown = 'error' in event ? event.error : undefined;
          this.#handlers?.lifecycle.actorFailed(event.type.slice(ACTOR_ERROR.length), error);
        },
        answerRuntimeReady: on<'RUNTIME_AWAITED'>(({ wakeUps }, { uid }) => wakeUps.runtimeIsReady(uid)),
        answerRuntimeNotReady: ({ context, event }) => {
          if (event.type === 'RUNTIME_AWAITED')
            this.#handlers?.wakeUps.runtimeIsNotReady(event.uid, context.runtimeProblem);
        },
        resumeAllPods: on<'RUNTIME_READY'>(({ wakeUps }) => wakeUps.resumeAllPods()),
        tellRuntimeProblem: on<'RUNTIME_NOT_READY'>(({ wakeUps }, { problem }) =>
          wakeUps.tellStartingPods(problem),
        ),
        reportRuntimeState: on<'RUNTIME_NOT_READY' | 'RUNTIME_READY'>(({ wakeUps }, event) =>
          wakeUps.logRuntime(event.type === 'RUNTIME_READY' ? undefined : event.problem),
        ),
        killAllPods: on<'SHUTDOWN'>(({ lifecycle }) => lifecycle.killAll()),
        reportSourcesReady: on(({ lifecycle }) => lifecycle.sourcesReady()),
        reportStopped: on(({ onStopped }) => onStopped()),
      },
    });
  }
}
