/**
 * A pod's life as a statechart: the single owner of "may a container of this pod be started" and "can one still be
 * running". One actor per incarnation of a UID. The rules and their numbers are those of docs/lifecycle.md.
 *
 * The machine asks for effects and timers by named actions and hears of their outcome as events. The actor that runs it
 * keeps to this: at most one effect at a time; each effect ends with exactly one event, `*_DONE`, `*_FAILED` or, after an
 * abort, `AT_REST`; nothing that may start a container is in flight once that event has been sent. The actor answers
 * `awaitRuntime`, `awaitRemoval`, `requestName`, `requestRoom` and `makeRoom` each time they are asked, at once or later, by
 * the events that their states wait for.
 */
import { assign, setup } from 'xstate';
import { REMOVAL_DELAY } from '../policies/admission/start-delay.ts';
import { isManifestPod, isStaticPod } from '../policies/pod/pod-kinds.ts';
import { isEnding, isTerminalPhase } from '../policies/termination/pod-termination.ts';
import { asksOf } from './ask.ts';
import {
  delayOf,
  gracePeriodAfter,
  initialContext,
  type PodContext,
  type PodEvent,
  type PodInput,
  type PodTag,
} from './pod-context.ts';

export type { PodContext, PodEvent, PodInput, PodTag, RuntimeHolds } from './pod-context.ts';

const ask = asksOf('pod', 'src/agent/actors/pods/pod-actor.ts');

// Transitions of several states. Each stands for one transition, so that the Stately editor draws them.

const HAD_RUN_TO_ITS_END = {
  description: 'Rule 12',
  guard: 'hadRunToItsEnd',
  actions: ['recordUpdate', 'recordTermination'],
  target: '#pod.Terminated.CleaningUp',
} as const;
const ENDS_UNSEEN = {
  description: 'Rule 11',
  guard: 'endsUnseenByRuntime',
  actions: ['recordUpdate', 'recordTermination'],
  target: '#pod.Terminated.CleaningUp',
} as const;
const ENDS = {
  guard: 'updateEndsPod',
  actions: ['recordUpdate', 'recordTermination'],
  target: '#pod.Terminating',
} as const;
const KILLED = { actions: ['recordUpdate', 'recordTermination'], target: '#pod.Terminating' } as const;
const ADMITTED = { actions: ['forgetDelay', 'reportAdmitted'], target: '#pod.Syncing.Working' } as const;
const WAITS_FOR_ROOM = {
  guard: 'waitsForRoom',
  actions: ['reportDelay', 'recordDelay'],
  target: 'AwaitingRoom',
} as const;
const REJECTED_WHILE_RUNNING = {
  guard: 'runtimeHoldsRunning',
  actions: ['recordRejection', 'recordTermination', 'reportRejected'],
  target: '#pod.Terminating',
} as const;
const REJECTED = {
  actions: ['recordRejection', 'recordTermination', 'reportRejected'],
  target: '#pod.Terminated.CleaningUp',
} as const;
const FIRST_SEEN = { actions: ['recordUpdate'], target: 'AwaitingRuntime' } as const;
const ASKS_AGAIN = { actions: ['recordUpdate'], target: 'Admitting' } as const;
const KEEPS_WAITING = { actions: ['recordUpdate'] } as const;
const DRAINS = {
  guard: 'updateEndsPod',
  actions: ['recordUpdate', 'recordTermination'],
  target: 'Draining',
} as const;
const SYNCED_LATER = { actions: ['recordUpdate', 'markUpdatePending'] } as const;
const SYNCED_NOW = { actions: ['recordUpdate'], target: 'Working' } as const;
const ENDS_SOONER = { actions: ['recordUpdate', 'recordTermination'] } as const;

export const podMachine = setup({
  types: {
    context: {} as PodContext,
    events: {} as PodEvent,
    input: {} as PodInput,
    tags: {} as PodTag,
  },
  guards: {
    updateEndsPod: ({ event }) => 'pod' in event && event.pod !== undefined && isEnding(event.pod),
    hadRunToItsEnd: ({ context, event }) =>
      'pod' in event && isTerminalPhase(event.pod?.status?.phase) && context.runtimeHolds !== 'running',
    endsUnseenByRuntime: ({ context, event }) =>
      context.runtimeHolds === 'nothing' && 'pod' in event && event.pod !== undefined && isEnding(event.pod),
    runtimeHoldsNothing: ({ context }) => context.runtimeHolds === 'nothing',
    runtimeHoldsRunning: ({ context }) => context.runtimeHolds === 'running',
    isOfManifest: ({ context }) => context.pod !== undefined && isManifestPod(context.pod),
    /** A static pod that lacks only room waits: its source would not deliver it a second time. */
    waitsForRoom: ({ context, event }) =>
      event.type === 'REJECTED' &&
      event.lack !== undefined &&
      context.pod !== undefined &&
      isStaticPod(context.pod),
    hasRunToItsEnd: ({ event }) => event.type === 'SYNC_DONE' && event.terminal,
    moreToDo: ({ context, event }) => context.updatePending || ('again' in event && event.again),
    shortensGracePeriod: ({ context, event }) =>
      context.gracePeriodSeconds !== undefined &&
      gracePeriodAfter(context, event) < context.gracePeriodSeconds,
  },
  actions: {
    recordUpdate: assign(({ event }) =>
      'pod' in event && event.pod !== undefined ? { pod: event.pod } : {},
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
      };
    }),
    markUpdatePending: assign({ updatePending: true }),
    clearUpdatePending: assign({ updatePending: false }),
    requestRestart: assign({ restartRequested: true }),
    recordDelay: assign(({ context, event }) => ({ delay: delayOf(event) ?? context.delay })),
    recordRemoval: assign({ delay: REMOVAL_DELAY }),
    forgetDelay: assign({ delay: undefined }),
    recordRejection: assign(({ event }) =>
      event.type === 'REJECTED' ? { rejection: { reason: event.reason, message: event.message } } : {},
    ),

    // Asked of the actor.
    awaitRuntime: ask(),
    awaitRemoval: ask(),
    requestName: ask(),
    requestRoom: ask(),
    makeRoom: ask(),
    reportDelay: ask(),
    reportAdmitted: ask(),
    reportRejected: ask(),
    startSync: ask(),
    abortSync: ask(),
    startStop: ask(),
    abortStop: ask(),
    startCleanup: ask(),
    armResync: ask(),
    disarmResync: ask(),
    reportTerminated: ask(),
    reportFinished: ask(),
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
      initial: 'Starting',
      states: {
        Starting: {
          description: 'The pod may not start yet',
          tags: ['starting'],
          initial: 'New',
          on: {
            SyncPodCreate: [HAD_RUN_TO_ITS_END, ENDS_UNSEEN, ENDS, KEEPS_WAITING],
            SyncPodUpdate: [HAD_RUN_TO_ITS_END, ENDS_UNSEEN, ENDS, KEEPS_WAITING],
            // It may bring a status that names claims which were made for the pod.
            SyncPodSync: KEEPS_WAITING,
            SyncPodKill: [
              {
                description: 'Rule 11',
                guard: 'runtimeHoldsNothing',
                actions: ['recordUpdate', 'recordTermination'],
                target: '#pod.Terminated.CleaningUp',
              },
              KILLED,
            ],
            RUNTIME_NOT_READY: { actions: ['recordDelay'], target: '.AwaitingRuntime' },
          },
          states: {
            New: {
              description: 'The actor has not got the pod yet',
              on: {
                SyncPodCreate: [HAD_RUN_TO_ITS_END, ENDS_UNSEEN, ENDS, FIRST_SEEN],
                SyncPodUpdate: [HAD_RUN_TO_ITS_END, ENDS_UNSEEN, ENDS, FIRST_SEEN],
                SyncPodKill: KILLED,
              },
            },
            AwaitingRuntime: {
              description: 'Waits for the container runtime to be ready',
              entry: ['awaitRuntime'],
              on: {
                RUNTIME_READY: { actions: ['forgetDelay'], target: 'AwaitingRemoval' },
                RUNTIME_NOT_READY: { actions: ['recordDelay'] },
              },
            },
            AwaitingRemoval: {
              description: 'Waits until the remains of an earlier pod of its UID have been removed',
              entry: ['awaitRemoval'],
              exit: ['forgetDelay'],
              on: {
                REMOVING: { actions: ['recordRemoval'] },
                REMOVED: [{ guard: 'isOfManifest', target: 'AwaitingName' }, { target: 'Admitting' }],
              },
            },
            AwaitingName: {
              description: 'Waits for another pod of a manifest with the same name to end (rule 10)',
              entry: ['requestName'],
              on: {
                NAME_TAKEN: { actions: ['reportDelay', 'recordDelay'] },
                NAME_GRANTED: { actions: ['forgetDelay'], target: 'Admitting' },
              },
            },
            Admitting: {
              description: 'The node decides whether it has room for the pod',
              entry: ['requestRoom'],
              on: {
                ADMITTED,
                SHORT: { target: 'MakingRoom' },
                REJECTED: [WAITS_FOR_ROOM, REJECTED_WHILE_RUNNING, REJECTED],
              },
            },
            AwaitingRoom: {
              description: 'A static pod waits until other pods have freed room',
              on: {
                SyncPodCreate: [HAD_RUN_TO_ITS_END, ENDS_UNSEEN, ENDS, ASKS_AGAIN],
                SyncPodUpdate: [HAD_RUN_TO_ITS_END, ENDS_UNSEEN, ENDS, ASKS_AGAIN],
                ROOM_FREED: { target: 'Admitting' },
              },
            },
            MakingRoom: {
              description:
                'Other pods are ended to make room for this critical pod (see the preemption chart)',
              entry: ['makeRoom'],
              on: {
                PREEMPTING: { actions: ['recordDelay'] },
                ADMITTED,
                REJECTED: [WAITS_FOR_ROOM, REJECTED_WHILE_RUNNING, REJECTED],
              },
            },
          },
        },
        Working: {
          description: 'A sync is under way: the pod is being brought to what its spec says',
          tags: ['atWork'],
          entry: ['clearUpdatePending', 'startSync'],
          on: {
            SyncPodCreate: [DRAINS, SYNCED_LATER],
            SyncPodUpdate: [DRAINS, SYNCED_LATER],
            SyncPodSync: SYNCED_LATER,
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
            SyncPodCreate: [ENDS, SYNCED_NOW],
            SyncPodUpdate: [ENDS, SYNCED_NOW],
            SyncPodSync: SYNCED_NOW,
            SyncPodKill: KILLED,
          },
        },
        BackingOff: {
          description: 'The last sync failed: it is tried again after a while',
          entry: ['armResync'],
          exit: ['disarmResync'],
          on: {
            SyncPodCreate: [ENDS, SYNCED_NOW],
            SyncPodUpdate: [ENDS, SYNCED_NOW],
            SyncPodSync: SYNCED_NOW,
            SyncPodKill: KILLED,
          },
        },
        Draining: {
          description:
            'The pod must end. The sync has been aborted, and its calls must come to rest first (I2)',
          tags: ['terminationRequested', 'atWork'],
          entry: ['abortSync'],
          on: {
            SyncPodCreate: { actions: ['requestRestart'] },
            SyncPodUpdate: ENDS_SOONER,
            SyncPodKill: ENDS_SOONER,
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
        SyncPodUpdate: ENDS_SOONER,
        SyncPodKill: ENDS_SOONER,
      },
      states: {
        Stopping: {
          description: 'The containers are being stopped',
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
            'The grace period has been shortened: the stop has been aborted, and begins again once its calls are at rest (I5)',
          tags: ['atWork'],
          entry: ['abortStop'],
          on: {
            STOP_DONE: { target: '#pod.Terminated' },
            AT_REST: { target: 'Stopping' },
          },
        },
        BackingOff: {
          description: 'The last stop failed, or left something running: it is tried again after a while',
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
      description: 'No container runs, and none will be started',
      tags: ['terminationRequested', 'containersTerminating', 'terminated'],
      entry: ['reportTerminated'],
      initial: 'CleaningUp',
      on: {
        SyncPodCreate: { actions: ['requestRestart'] },
        SyncPodUpdate: { actions: ['recordUpdate'] },
      },
      states: {
        CleaningUp: {
          description: 'The final status is kept, and volumes and the cgroup are being removed',
          tags: ['atWork'],
          entry: ['startCleanup'],
          on: {
            CLEANUP_DONE: { target: 'Finished' },
            CLEANUP_FAILED: { actions: ['recordFailure'], target: 'BackingOff' },
          },
        },
        BackingOff: {
          description: 'The volumes or the cgroup could not be removed: that is tried again after a while',
          entry: ['armResync'],
          exit: ['disarmResync'],
          on: {
            SyncPodSync: { target: 'CleaningUp' },
          },
        },
        Finished: {
          description: 'The actor is kept until housekeeping forgets the UID (rule 9)',
          tags: ['finished'],
          entry: ['reportFinished'],
        },
      },
    },
  },
});
