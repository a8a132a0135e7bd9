/**
 * A pod's life as a statechart: the single owner of "may a container of this pod be started" and "can one still be
 * running". One actor per incarnation of a UID. The rules and their numbers are those of docs/lifecycle.md.
 *
 * The machine asks for effects and timers by named actions and hears of their outcome as events. Whoever runs it
 * promises: at most one effect at a time; each effect ends with exactly one event, `*_DONE`, `*_FAILED` or, after an
 * abort, `AT_REST`; nothing that may start a container is in flight once that event has been sent.
 */
import { assign, setup } from 'xstate';
import {
  effectiveGracePeriodSeconds,
  isEnding,
  isTerminalPhase,
  type KillPodOptions,
  type PodStatusOverride,
} from '../policies/sync/pod-termination.ts';
import type { ResyncReason } from '../policies/sync/resync.ts';
import type { Pod } from '../types/kubernetes.ts';

/** What the runtime was seen to hold of a pod: nothing, only what has ended, or something that runs. */
export type RuntimeHolds = 'nothing' | 'ended' | 'running';

export interface PodInput {
  readonly uid: string;
  /** `name_namespace`. */
  readonly fullName: string;
  /** As the runtime reported it when this actor came into being. */
  readonly runtimeHolds: RuntimeHolds;
}

export interface PodContext extends PodInput {
  /** The newest version seen; undefined for a pod that only the runtime knows. */
  readonly pod: Pod | undefined;
  readonly mirrorPod: Pod | undefined;
  /** Something newer than what the effect in flight looks at is waiting. */
  readonly updatePending: boolean;
  readonly lastOutcome: ResyncReason;
  /** Seconds; undefined until the pod is asked to end. Never grows (I4). */
  readonly gracePeriodSeconds: number | undefined;
  readonly statusOverride: PodStatusOverride | undefined;
  readonly evicted: boolean;
  readonly waiters: readonly string[];
  /** The same UID was asked for again while this incarnation was ending. */
  readonly restartRequested: boolean;
}

interface PodUpdate {
  readonly pod: Pod;
  readonly mirrorPod?: Pod;
}

export type PodEvent =
  | ({ readonly type: 'SyncPodCreate' } & PodUpdate)
  | ({ readonly type: 'SyncPodUpdate' } & PodUpdate)
  | { readonly type: 'SyncPodSync' }
  | { readonly type: 'SyncPodKill'; readonly pod?: Pod; readonly options?: KillPodOptions }
  | { readonly type: 'START_GRANTED' }
  /** `again`: what the runtime shows after the effect asks for more, apart from what has just failed. */
  | { readonly type: 'SYNC_DONE'; readonly terminal: boolean; readonly again: boolean }
  | { readonly type: 'SYNC_FAILED'; readonly reason: ResyncReason; readonly again: boolean }
  | { readonly type: 'STOP_DONE' }
  | { readonly type: 'STOP_FAILED' }
  | { readonly type: 'CLEANUP_DONE' }
  | { readonly type: 'CLEANUP_FAILED' }
  | { readonly type: 'AT_REST' };

/** What others may ask about a pod by its UID; each is a tag of the states in which the answer is yes. */
export type PodTag =
  | 'couldHaveRunningContainers'
  | 'terminationRequested'
  | 'containersTerminating'
  | 'terminated'
  | 'finished'
  /** An effect is at work: the pod is on its way to another state. */
  | 'atWork';

function initialContext({ input }: { input: PodInput }): PodContext {
  return {
    ...input,
    pod: undefined,
    mirrorPod: undefined,
    updatePending: false,
    lastOutcome: { kind: 'synced' },
    gracePeriodSeconds: undefined,
    statusOverride: undefined,
    evicted: false,
    waiters: [],
    restartRequested: false,
  };
}

function gracePeriodAfter(context: PodContext, event: PodEvent): number {
  const pod = 'pod' in event ? (event.pod ?? context.pod) : context.pod;
  const options = event.type === 'SyncPodKill' ? event.options : undefined;
  return effectiveGracePeriodSeconds(
    context.gracePeriodSeconds,
    pod,
    options?.podTerminationGracePeriodSecondsOverride,
  );
}

const unreachable = (): void => {
  throw new Error('the pod machine was run without its effects: provide them (src/actors/pods/pod-actor.ts)');
};

export const podMachine = setup({
  types: {
    context: {} as PodContext,
    events: {} as PodEvent,
    input: {} as PodInput,
    tags: {} as PodTag,
  },
  guards: {
    updateEndsPod: ({ event }) => 'pod' in event && event.pod !== undefined && isEnding(event.pod),
    ranToItsEndBefore: ({ context, event }) =>
      'pod' in event && isTerminalPhase(event.pod?.status?.phase) && context.runtimeHolds !== 'running',
    endsUnseenByRuntime: ({ context, event }) =>
      context.runtimeHolds === 'nothing' && 'pod' in event && event.pod !== undefined && isEnding(event.pod),
    runtimeHoldsNothing: ({ context }) => context.runtimeHolds === 'nothing',
    hasRunToItsEnd: ({ event }) => event.type === 'SYNC_DONE' && event.terminal,
    moreToDo: ({ context, event }) => context.updatePending || ('again' in event && event.again),
    shortensGracePeriod: ({ context, event }) =>
      context.gracePeriodSeconds !== undefined &&
      gracePeriodAfter(context, event) < context.gracePeriodSeconds,
  },
  actions: {
    recordUpdate: assign(({ context, event }) =>
      'pod' in event && event.pod !== undefined
        ? { pod: event.pod, mirrorPod: 'mirrorPod' in event ? event.mirrorPod : context.mirrorPod }
        : {},
    ),
    recordOutcome: assign(({ event }) => ({
      lastOutcome: event.type === 'SYNC_FAILED' ? event.reason : ({ kind: 'synced' } as const),
    })),
    recordFailure: assign({ lastOutcome: { kind: 'failed' } }),
    recordTermination: assign(({ context, event }) => {
      const options = event.type === 'SyncPodKill' ? event.options : undefined;
      return {
        gracePeriodSeconds: gracePeriodAfter(context, event),
        evicted: context.evicted || options?.evict === true,
        statusOverride: options?.podStatus ?? context.statusOverride,
        waiters: options?.waiter === undefined ? context.waiters : [...context.waiters, options.waiter],
      };
    }),
    markUpdatePending: assign({ updatePending: true }),
    clearUpdatePending: assign({ updatePending: false }),
    requestRestart: assign({ restartRequested: true }),
    forgetWaiters: assign({ waiters: [] }),

    // What the machine asks for; the actor provides it.
    requestStart: unreachable,
    startSync: unreachable,
    abortSync: unreachable,
    startStop: unreachable,
    abortStop: unreachable,
    startCleanup: unreachable,
    armResync: unreachable,
    disarmResync: unreachable,
    answerWaiters: unreachable,
    answerThisWaiter: unreachable,
    reportTerminated: unreachable,
    reportFinished: unreachable,
  },
}).createMachine({
  id: 'pod',
  description: 'One incarnation of a pod on this node',
  context: initialContext,
  initial: 'Syncing',
  states: {
    Syncing: {
      description: 'Containers may be started',
      tags: ['couldHaveRunningContainers'],
      initial: 'AwaitingStart',
      states: {
        AwaitingStart: {
          description:
            'Waits for leave to start: a static pod of this name is still ending, or the runtime is not ready',
          on: {
            SyncPodCreate: [
              {
                description: 'Rule 12',
                guard: 'ranToItsEndBefore',
                actions: ['recordUpdate', 'recordTermination'],
                target: '#pod.Terminated.CleaningUp',
              },
              {
                description: 'Rule 11',
                guard: 'endsUnseenByRuntime',
                actions: ['recordUpdate', 'recordTermination'],
                target: '#pod.Terminated.Finished',
              },
              {
                guard: 'updateEndsPod',
                actions: ['recordUpdate', 'recordTermination'],
                target: '#pod.Terminating',
              },
              { actions: ['recordUpdate', 'requestStart'] },
            ],
            SyncPodUpdate: [
              {
                description: 'Rule 12',
                guard: 'ranToItsEndBefore',
                actions: ['recordUpdate', 'recordTermination'],
                target: '#pod.Terminated.CleaningUp',
              },
              {
                description: 'Rule 11',
                guard: 'endsUnseenByRuntime',
                actions: ['recordUpdate', 'recordTermination'],
                target: '#pod.Terminated.Finished',
              },
              {
                guard: 'updateEndsPod',
                actions: ['recordUpdate', 'recordTermination'],
                target: '#pod.Terminating',
              },
              { actions: ['recordUpdate', 'requestStart'] },
            ],
            SyncPodKill: [
              {
                description: 'Rule 11',
                guard: 'runtimeHoldsNothing',
                actions: ['recordUpdate', 'recordTermination'],
                target: '#pod.Terminated.CleaningUp',
              },
              { actions: ['recordUpdate', 'recordTermination'], target: '#pod.Terminating' },
            ],
            START_GRANTED: { target: 'Working' },
          },
        },
        Working: {
          description: 'One sync effect in flight',
          tags: ['atWork'],
          entry: ['clearUpdatePending', 'startSync'],
          on: {
            SyncPodCreate: [
              { guard: 'updateEndsPod', actions: ['recordUpdate', 'recordTermination'], target: 'Draining' },
              { actions: ['recordUpdate', 'markUpdatePending'] },
            ],
            SyncPodUpdate: [
              { guard: 'updateEndsPod', actions: ['recordUpdate', 'recordTermination'], target: 'Draining' },
              { actions: ['recordUpdate', 'markUpdatePending'] },
            ],
            SyncPodSync: { actions: ['markUpdatePending'] },
            SyncPodKill: { actions: ['recordUpdate', 'recordTermination'], target: 'Draining' },
            SYNC_DONE: [
              { guard: 'hasRunToItsEnd', actions: ['recordTermination'], target: '#pod.Terminating' },
              { guard: 'moreToDo', actions: ['recordOutcome'], target: 'Working', reenter: true },
              { actions: ['recordOutcome'], target: 'Settled' },
            ],
            SYNC_FAILED: [
              { guard: 'moreToDo', actions: ['recordOutcome'], target: 'Working', reenter: true },
              { actions: ['recordOutcome'], target: 'BackingOff' },
            ],
          },
        },
        Settled: {
          description: 'Waits for an update, a runtime event, a probe result or the resync delay',
          entry: ['armResync'],
          exit: ['disarmResync'],
          on: {
            SyncPodCreate: [
              {
                guard: 'updateEndsPod',
                actions: ['recordUpdate', 'recordTermination'],
                target: '#pod.Terminating',
              },
              { actions: ['recordUpdate'], target: 'Working' },
            ],
            SyncPodUpdate: [
              {
                guard: 'updateEndsPod',
                actions: ['recordUpdate', 'recordTermination'],
                target: '#pod.Terminating',
              },
              { actions: ['recordUpdate'], target: 'Working' },
            ],
            SyncPodSync: { target: 'Working' },
            SyncPodKill: { actions: ['recordUpdate', 'recordTermination'], target: '#pod.Terminating' },
          },
        },
        BackingOff: {
          description: 'The last sync failed',
          entry: ['armResync'],
          exit: ['disarmResync'],
          on: {
            SyncPodCreate: [
              {
                guard: 'updateEndsPod',
                actions: ['recordUpdate', 'recordTermination'],
                target: '#pod.Terminating',
              },
              { actions: ['recordUpdate'], target: 'Working' },
            ],
            SyncPodUpdate: [
              {
                guard: 'updateEndsPod',
                actions: ['recordUpdate', 'recordTermination'],
                target: '#pod.Terminating',
              },
              { actions: ['recordUpdate'], target: 'Working' },
            ],
            SyncPodSync: { target: 'Working' },
            SyncPodKill: { actions: ['recordUpdate', 'recordTermination'], target: '#pod.Terminating' },
          },
        },
        Draining: {
          description: 'The pod must end: the sync effect has been aborted and must come to rest first (I2)',
          tags: ['terminationRequested', 'atWork'],
          entry: ['abortSync'],
          on: {
            SyncPodCreate: { actions: ['requestRestart'] },
            SyncPodUpdate: { actions: ['recordUpdate', 'recordTermination'] },
            SyncPodKill: { actions: ['recordUpdate', 'recordTermination'] },
            SYNC_DONE: { target: '#pod.Terminating' },
            SYNC_FAILED: { target: '#pod.Terminating' },
            AT_REST: { target: '#pod.Terminating' },
          },
        },
      },
    },
    Terminating: {
      description: 'No container of this pod will ever be started again; some may still run',
      tags: ['couldHaveRunningContainers', 'terminationRequested', 'containersTerminating'],
      initial: 'Stopping',
      on: {
        SyncPodCreate: { actions: ['requestRestart'] },
        SyncPodUpdate: { actions: ['recordUpdate', 'recordTermination'] },
        SyncPodKill: { actions: ['recordUpdate', 'recordTermination'] },
      },
      states: {
        Stopping: {
          description: 'One stop effect in flight',
          tags: ['atWork'],
          entry: ['startStop'],
          on: {
            SyncPodUpdate: {
              description: 'Rule 4',
              guard: 'shortensGracePeriod',
              actions: ['recordUpdate', 'recordTermination'],
              target: 'Shortening',
            },
            SyncPodKill: {
              description: 'Rule 4',
              guard: 'shortensGracePeriod',
              actions: ['recordUpdate', 'recordTermination'],
              target: 'Shortening',
            },
            STOP_DONE: { target: '#pod.Terminated' },
            STOP_FAILED: { actions: ['recordFailure'], target: 'BackingOff' },
          },
        },
        Shortening: {
          description:
            'A shorter grace period came: the stop effect has been aborted and starts again once at rest (I5)',
          tags: ['atWork'],
          entry: ['abortStop'],
          on: {
            STOP_DONE: { target: '#pod.Terminated' },
            AT_REST: { target: 'Stopping' },
          },
        },
        BackingOff: {
          description: 'The last stop failed, or left something running',
          entry: ['armResync'],
          exit: ['disarmResync'],
          on: {
            SyncPodSync: { target: 'Stopping' },
            SyncPodUpdate: {
              guard: 'shortensGracePeriod',
              actions: ['recordUpdate', 'recordTermination'],
              target: 'Stopping',
            },
            SyncPodKill: {
              guard: 'shortensGracePeriod',
              actions: ['recordUpdate', 'recordTermination'],
              target: 'Stopping',
            },
          },
        },
      },
    },
    Terminated: {
      description: 'No container runs and none is coming',
      tags: ['terminationRequested', 'containersTerminating', 'terminated'],
      entry: ['answerWaiters', 'forgetWaiters', 'reportTerminated'],
      initial: 'CleaningUp',
      on: {
        SyncPodCreate: { actions: ['requestRestart'] },
        SyncPodUpdate: { actions: ['recordUpdate'] },
        SyncPodKill: { description: 'Rule 6', actions: ['answerThisWaiter'] },
      },
      states: {
        CleaningUp: {
          description: 'Final status, volumes, cgroup',
          tags: ['atWork'],
          entry: ['startCleanup'],
          on: {
            CLEANUP_DONE: { target: 'Finished' },
            CLEANUP_FAILED: { actions: ['recordFailure'], target: 'BackingOff' },
          },
        },
        BackingOff: {
          description: 'The last clean-up failed',
          entry: ['armResync'],
          exit: ['disarmResync'],
          on: {
            SyncPodSync: { target: 'CleaningUp' },
          },
        },
        Finished: {
          description: 'Kept until housekeeping forgets the UID (rule 9)',
          tags: ['finished'],
          entry: ['reportFinished'],
        },
      },
    },
  },
});
