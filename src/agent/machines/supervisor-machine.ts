/**
 * The agent's loop as a statechart: it reads the streams and routes their events to the pod actors. It decides nothing
 * about a pod's life. The streams and their handlers have the names of the kubelet's sync loop.
 */
import { type AnyActorRef, assign, type ErrorActorEvent, setup, stateIn, stopChild } from 'xstate';
import type { Pod } from '../../types/kubernetes.ts';
import { asksOf } from './ask.ts';

export interface SupervisorInput {
  /** Every source must be seen once before anything is removed. */
  readonly sources: readonly string[];
}

export interface SupervisorContext {
  readonly unseenSources: readonly string[];
  /** Why the runtime is not ready; undefined when it is. */
  readonly runtimeProblem: string | undefined;
}

interface PodsOfSource {
  readonly source: string;
  readonly pods: readonly Pod[];
}

export type SupervisorEvent =
  | ({ readonly type: 'CONFIG.ADD' } & PodsOfSource)
  | ({ readonly type: 'CONFIG.UPDATE' } & PodsOfSource)
  | ({ readonly type: 'CONFIG.DELETE' } & PodsOfSource)
  | ({ readonly type: 'CONFIG.REMOVE' } & PodsOfSource)
  | ({ readonly type: 'CONFIG.RECONCILE' } & PodsOfSource)
  | { readonly type: 'SOURCE_SEEN'; readonly source: string }
  | { readonly type: 'PLEG'; readonly uid: string }
  | { readonly type: 'SYNC'; readonly uids: readonly string[] }
  | {
      readonly type: 'PROBE';
      readonly uid: string;
      readonly probe: 'liveness' | 'readiness' | 'startup';
      readonly result: 'Success' | 'Failure';
    }
  | { readonly type: 'HOUSEKEEPING' }
  | { readonly type: 'RUNTIME_READY' }
  | { readonly type: 'RUNTIME_NOT_READY'; readonly problem: string }
  /** A pod that is to start waits for the runtime. */
  | { readonly type: 'RUNTIME_AWAITED'; readonly uid: string }
  | { readonly type: 'POD_TERMINATED'; readonly uid: string }
  | { readonly type: 'POD_FINISHED'; readonly uid: string; readonly restartRequested: boolean }
  | { readonly type: 'ACTOR_FORGOTTEN'; readonly actor: AnyActorRef }
  | { readonly type: 'SHUTDOWN'; readonly exitWithPods: boolean }
  | { readonly type: 'ALL_PODS_GONE' }
  | ErrorActorEvent;

const ask = asksOf('supervisor', 'src/agent/actors/loop/supervisor-loop.ts');

function initialContext({ input }: { input: SupervisorInput }): SupervisorContext {
  return { unseenSources: input.sources, runtimeProblem: 'the runtime has not been asked yet' };
}

export const supervisorMachine = setup({
  types: {
    context: {} as SupervisorContext,
    events: {} as SupervisorEvent,
    input: {} as SupervisorInput,
  },
  guards: {
    isLastUnseenSource: ({ context, event }) =>
      event.type === 'SOURCE_SEEN' && context.unseenSources.every((source) => source === event.source),
    noSources: ({ context }) => context.unseenSources.length === 0,
    sourcesReady: stateIn({ Sources: 'Ready' }),
    /** A liveness probe that succeeds changes nothing. */
    needsSync: ({ event }) =>
      event.type === 'PROBE' && (event.probe !== 'liveness' || event.result === 'Failure'),
    exitsWithPods: ({ event }) => event.type === 'SHUTDOWN' && event.exitWithPods,
  },
  actions: {
    markSourceSeen: assign({
      unseenSources: ({ context, event }) =>
        event.type === 'SOURCE_SEEN'
          ? context.unseenSources.filter((source) => source !== event.source)
          : context.unseenSources,
    }),
    recordRuntimeProblem: assign({
      runtimeProblem: ({ event }) => (event.type === 'RUNTIME_NOT_READY' ? event.problem : undefined),
    }),

    stopActor: stopChild(({ event }) => (event.type === 'ACTOR_FORGOTTEN' ? event.actor : '')),

    // Asked of the actor.
    handlePodAdditions: ask(),
    handlePodUpdates: ask(),
    dropDesiredPods: ask(),
    handlePodRemoves: ask(),
    handlePodReconcile: ask(),
    handlePodLifecycleEvents: ask(),
    handlePodSyncs: ask(),
    handleProbeResult: ask(),
    handlePodCleanups: ask(),
    handlePodTerminated: ask(),
    handlePodFinished: ask(),
    handlePodError: ask(),
    answerRuntimeReady: ask(),
    answerRuntimeNotReady: ask(),
    resumeAllPods: ask(),
    tellRuntimeProblem: ask(),
    killAllPods: ask(),
    reportRuntimeState: ask(),
    reportSourcesReady: ask(),
    reportStopped: ask(),
  },
}).createMachine({
  id: 'supervisor',
  description: 'The loop that routes configuration, runtime, sync, probe and housekeeping events to the pods',
  context: initialContext,
  type: 'parallel',
  states: {
    Sources: {
      initial: 'Gathering',
      states: {
        Gathering: {
          description: 'Not every source of pods has been read: nothing is removed',
          always: { guard: 'noSources', target: 'Ready' },
          on: {
            SOURCE_SEEN: [
              { guard: 'isLastUnseenSource', actions: ['markSourceSeen'], target: 'Ready' },
              { actions: ['markSourceSeen'] },
            ],
          },
        },
        Ready: { entry: ['reportSourcesReady'] },
      },
    },
    Runtime: {
      initial: 'NotReady',
      states: {
        NotReady: {
          description: 'No pod is started or synced until the runtime is ready',
          on: {
            RUNTIME_READY: {
              actions: ['recordRuntimeProblem', 'reportRuntimeState'],
              target: 'Ready',
            },
            RUNTIME_NOT_READY: {
              actions: ['recordRuntimeProblem', 'reportRuntimeState', 'tellRuntimeProblem'],
            },
            RUNTIME_AWAITED: { actions: ['answerRuntimeNotReady'] },
          },
        },
        Ready: {
          entry: ['resumeAllPods'],
          on: {
            RUNTIME_NOT_READY: {
              actions: ['recordRuntimeProblem', 'reportRuntimeState', 'tellRuntimeProblem'],
              target: 'NotReady',
            },
            RUNTIME_AWAITED: { actions: ['answerRuntimeReady'] },
            SYNC: { actions: ['handlePodSyncs'] },
          },
        },
      },
    },
    Loop: {
      initial: 'Running',
      on: {
        PLEG: { actions: ['handlePodLifecycleEvents'] },
        PROBE: { guard: 'needsSync', actions: ['handleProbeResult'] },
        POD_TERMINATED: { actions: ['handlePodTerminated'] },
        POD_FINISHED: { actions: ['handlePodFinished'] },
        ACTOR_FORGOTTEN: { actions: ['stopActor'] },
        HOUSEKEEPING: { guard: 'sourcesReady', actions: ['handlePodCleanups'] },
        'xstate.error.actor.*': {
          description: 'A pod actor that fails does not stop the supervisor',
          actions: ['handlePodError'],
        },
      },
      states: {
        Running: {
          on: {
            'CONFIG.ADD': { actions: ['handlePodAdditions'] },
            'CONFIG.UPDATE': { actions: ['handlePodUpdates'] },
            'CONFIG.DELETE': { actions: ['handlePodUpdates'] },
            'CONFIG.REMOVE': [
              { guard: 'sourcesReady', actions: ['dropDesiredPods', 'handlePodRemoves'] },
              {
                description: 'Housekeeping ends the pods once all sources have been seen',
                actions: ['dropDesiredPods'],
              },
            ],
            'CONFIG.RECONCILE': { actions: ['handlePodReconcile'] },
            SHUTDOWN: [{ guard: 'exitsWithPods', target: 'EndingPods' }, { target: 'Stopped' }],
          },
        },
        EndingPods: {
          description: 'The agent ends all pods before it stops',
          entry: ['killAllPods'],
          on: {
            HOUSEKEEPING: { actions: ['handlePodCleanups'] },
            ALL_PODS_GONE: { target: 'Stopped' },
            SHUTDOWN: [{ guard: 'exitsWithPods' }, { target: 'Stopped' }],
          },
        },
        Stopped: { entry: ['reportStopped'] },
      },
    },
  },
});
