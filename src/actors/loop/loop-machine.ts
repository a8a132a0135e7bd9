/** The supervisor's chart with its handlers, which have the kubelet's names. */
import { supervisorMachine, type SupervisorEvent } from '../../machines/supervisor-machine.ts';
import type { PodRevival } from '../pods/pod-revival.ts';
import type { ExitWithPods } from './exit-with-pods.ts';
import type { PodCleanups } from './pod-cleanups.ts';
import type { PodReports } from './pod-reports.ts';
import type { PodWakeUps } from './pod-wake-ups.ts';
import type { RuntimeNews } from './runtime-news.ts';
import type { SourceChanges } from './source-changes.ts';

const ACTOR_ERROR = 'xstate.error.actor.';

/** Who handles the events of the loop, by where they come from. */
export interface LoopHandlers {
  readonly sources: SourceChanges;
  readonly wakeUps: PodWakeUps;
  readonly runtime: RuntimeNews;
  readonly reports: PodReports;
  readonly revival: PodRevival;
  readonly cleanups: PodCleanups;
  readonly exit: ExitWithPods;
  /** The loop has stopped. */
  readonly onStopped: () => void;
}

type EventOf<Type extends SupervisorEvent['type']> = Extract<SupervisorEvent, { type: Type }>;

/** The handlers are asked for with each event: they work on the actor of this machine, and are made after it. */
export function provideLoopMachine(handlers: () => LoopHandlers): typeof supervisorMachine {
  /** A handler of the events that the chart leads to it. */
  const on =
    <Type extends SupervisorEvent['type']>(handle: (by: LoopHandlers, event: EventOf<Type>) => void) =>
    ({ event }: { event: SupervisorEvent }): void =>
      handle(handlers(), event as EventOf<Type>);

  return supervisorMachine.provide({
    actions: {
      handlePodAdditions: on<'CONFIG.ADD'>(({ sources }, event) => sources.add(event.pods, event.source)),
      handlePodUpdates: on<'CONFIG.UPDATE'>(({ sources }, { pods }) =>
        pods.forEach((pod) => sources.update(pod)),
      ),
      dropDesiredPods: on<'CONFIG.REMOVE'>(({ sources }, { pods }) =>
        pods.forEach((pod) => sources.drop(pod)),
      ),
      handlePodRemoves: on<'CONFIG.REMOVE'>(({ sources }, event) => sources.remove(event.pods, event.source)),
      handlePodReconcile: on<'CONFIG.RECONCILE'>(({ sources }, { pods }) =>
        pods.forEach((pod) => sources.reconcile(pod)),
      ),
      handlePodLifecycleEvents: on<'PLEG'>(({ wakeUps }, { uid }) => wakeUps.runtimeChanged(uid)),
      handlePodSyncs: on<'SYNC'>(({ wakeUps }, { uids }) => uids.forEach((uid) => wakeUps.sync(uid))),
      handleProbeResult: on<'PROBE'>(({ wakeUps }, { uid }) => wakeUps.probed(uid)),
      handlePodCleanups: on<'HOUSEKEEPING'>(({ cleanups }) => cleanups.run()),
      handlePodTerminated: on<'POD_TERMINATED'>(({ reports }, { uid }) => reports.terminated(uid)),
      handlePodFinished: on<'POD_FINISHED'>(({ reports }, { uid, restartRequested }) =>
        reports.finished(uid, restartRequested),
      ),
      handlePodError: ({ event }) => {
        const error: unknown = 'error' in event ? event.error : undefined;
        handlers().revival.failed(event.type.slice(ACTOR_ERROR.length), error);
      },
      answerRuntimeReady: on<'RUNTIME_AWAITED'>(({ runtime }, { uid }) => runtime.tellReady(uid)),
      answerRuntimeNotReady: ({ context, event }) => {
        if (event.type === 'RUNTIME_AWAITED')
          handlers().runtime.tellProblem(event.uid, context.runtimeProblem);
      },
      resumeAllPods: on<'RUNTIME_READY'>(({ runtime }) => runtime.resumeAllPods()),
      tellRuntimeProblem: on<'RUNTIME_NOT_READY'>(({ runtime }, { problem }) =>
        runtime.tellStartingPods(problem),
      ),
      reportRuntimeState: on<'RUNTIME_NOT_READY' | 'RUNTIME_READY'>(({ runtime }, event) =>
        runtime.log(event.type === 'RUNTIME_READY' ? undefined : event.problem),
      ),
      killAllPods: on<'SHUTDOWN'>(({ exit }) => exit.killAllPods()),
      reportSourcesReady: () => handlers().cleanups.sourcesReady(),
      reportStopped: () => handlers().onStopped(),
    },
  });
}
