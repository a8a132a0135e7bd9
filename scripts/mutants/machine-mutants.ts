/** Mutants of the charts, and of the policies that their guards ask. */
import type { Mutant } from './mutant.ts';

const POD = 'src/agent/machines/pod-machine.ts';
const SUPERVISOR = 'src/agent/machines/supervisor-machine.ts';
const TERMINATION = 'src/agent/policies/termination/pod-termination.ts';
const QUEUE = 'src/agent/policies/admission/start-delay.ts';

const STOPPING_KILL = `            SyncPodKill: {
              description: 'Rule 4',
              guard: 'shortensGracePeriod',
              actions: ['recordUpdate', 'recordTermination'],
              target: 'Shortening',
            },
`;

export const MACHINE_MUTANTS: readonly Mutant[] = [
  // Draining
  {
    name: 'skip-draining',
    breaks: 'A kill leads from Working to Terminating without waiting for the sync in flight (I2)',
    file: POD,
    find: `            SyncPodKill: { actions: ['recordUpdate', 'recordTermination'], target: 'Draining' },`,
    replace: `            SyncPodKill: { actions: ['recordUpdate', 'recordTermination'], target: '#pod.Terminating' },`,
  },
  {
    name: 'draining-left-by-second-kill',
    breaks: 'A second kill ends Draining before the sync has ended (I2)',
    file: POD,
    find: `            SyncPodKill: ENDS_SOONER,
            SYNC_DONE`,
    replace: `            SyncPodKill: KILLED,
            SYNC_DONE`,
  },
  {
    name: 'draining-does-not-abort',
    breaks: 'The sync of a pod that was told to end is not aborted (I2)',
    file: POD,
    find: `          entry: ['abortSync'],`,
    replace: `          entry: [],`,
  },
  {
    name: 'kill-unheard-while-draining',
    breaks: 'Options of a kill that comes during Draining are dropped (rule 2)',
    file: POD,
    find: `            SyncPodKill: ENDS_SOONER,
            SYNC_DONE`,
    replace: `            SyncPodKill: {},
            SYNC_DONE`,
  },

  // Forward only
  {
    name: 'terminated-stops-again',
    breaks: 'A kill leads from Terminated back to Terminating (I1)',
    file: POD,
    find: `        SyncPodUpdate: { actions: ['recordUpdate'] },`,
    replace: `        SyncPodUpdate: { actions: ['recordUpdate'] },
        SyncPodKill: KILLED,`,
  },
  {
    name: 'update-revives-terminated',
    breaks: 'An update leads from Terminated back to Syncing (I1, rule 9)',
    file: POD,
    find: `        SyncPodUpdate: { actions: ['recordUpdate'] },`,
    replace: `        SyncPodUpdate: { actions: ['recordUpdate'], target: '#pod.Syncing.Working' },`,
  },
  {
    name: 'create-revives-terminating',
    breaks: 'A pod that is created again while it is being stopped goes back to Syncing (I1, rule 9)',
    file: POD,
    find: `        SyncPodCreate: { actions: ['requestRestart'] },
        SyncPodUpdate: ENDS_SOONER,
        SyncPodKill: ENDS_SOONER,
      },`,
    replace: `        SyncPodCreate: { actions: ['recordUpdate'], target: '#pod.Syncing.Working' },
        SyncPodUpdate: ENDS_SOONER,
        SyncPodKill: ENDS_SOONER,
      },`,
  },
  {
    name: 'restart-forgotten',
    breaks:
      'restartRequested is not kept: a pod that is created again while it ends does not start again (rule 9)',
    file: POD,
    find: `requestRestart: assign({ restartRequested: true }),`,
    replace: `requestRestart: assign({}),`,
  },

  // The grace period
  {
    name: 'grace-grows',
    breaks: 'The grace period in force is replaced by a longer one (I4)',
    file: TERMINATION,
    find: `[current, pod?.metadata.deletionGracePeriodSeconds, overrideSeconds]`,
    replace: `[pod?.metadata.deletionGracePeriodSeconds, overrideSeconds]`,
  },
  {
    name: 'no-minimum-grace',
    breaks: 'A grace period may be below 1 s (rule 4)',
    file: TERMINATION,
    find: `  return Math.max(chosen, MINIMUM_GRACE_PERIOD_SECONDS);`,
    replace: `  return chosen;`,
  },
  {
    name: 'deletion-grace-ignored',
    breaks: 'The deletionGracePeriodSeconds of a pod do not count (rule 4)',
    file: TERMINATION,
    find: `[current, pod?.metadata.deletionGracePeriodSeconds, overrideSeconds]`,
    replace: `[current, overrideSeconds]`,
  },
  {
    name: 'shorter-grace-unheard',
    breaks: 'A shorter grace period does not restart the stop in flight (rule 4)',
    file: POD,
    find: STOPPING_KILL,
    replace: ``,
  },
  {
    name: 'shortening-does-not-abort',
    breaks: 'The stop in flight goes on with the longer grace period (rule 4)',
    file: POD,
    find: `          entry: ['abortStop'],`,
    replace: `          entry: [],`,
  },
  {
    name: 'second-stop-beside-first',
    breaks: 'A shorter grace period starts another stop beside the one in flight (I5)',
    file: POD,
    find: STOPPING_KILL,
    replace: STOPPING_KILL.replace(`target: 'Shortening'`, `target: 'Stopping', reenter: true`),
  },

  // Kills and their answers
  {
    name: 'first-status-wins',
    breaks: 'The final status is that of the first kill, not of the last (rule 5)',
    file: POD,
    find: `options?.podStatus ?? context.statusOverride`,
    replace: `context.statusOverride ?? options?.podStatus`,
  },
  {
    name: 'eviction-forgotten',
    breaks: 'A later kill clears the evicted flag (rule 2)',
    file: POD,
    find: `context.evicted || options?.evict === true`,
    replace: `options?.evict === true`,
  },

  // Ends
  {
    name: 'natural-end-ignored',
    breaks: 'A pod that has run to its end stays in Syncing (rule 3)',
    file: POD,
    find: `    hasRunToItsEnd: ({ event }) => event.type === 'SYNC_DONE' && event.terminal,`,
    replace: `    hasRunToItsEnd: () => false,`,
  },
  {
    name: 'deletion-unheard-while-backing-off',
    breaks: 'An update that ends the pod is ignored after a failed sync (rule 3)',
    file: POD,
    find: `            SyncPodUpdate: [ENDS, SYNCED_NOW],
            SyncPodSync: SYNCED_NOW,
            SyncPodKill: KILLED,
          },
        },
        Draining: {`,
    replace: `            SyncPodUpdate: SYNCED_NOW,
            SyncPodSync: SYNCED_NOW,
            SyncPodKill: KILLED,
          },
        },
        Draining: {`,
  },
  {
    name: 'running-pod-finished-unseen',
    breaks: 'A deleted pod that another agent has started is finished without a stop (rule 11, I3)',
    file: POD,
    find: `      context.runtimeHolds === 'nothing' && 'pod' in event && event.pod !== undefined && isEnding(event.pod),`,
    replace: `      'pod' in event && event.pod !== undefined && isEnding(event.pod),`,
  },
  {
    name: 'failed-stop-is-the-end',
    breaks: 'A stop that failed makes the pod Terminated (rule 7, I3)',
    file: POD,
    find: `STOP_FAILED: { actions: ['recordFailure'], target: 'BackingOff' }`,
    replace: `STOP_FAILED: { actions: ['recordFailure'], target: '#pod.Terminated' }`,
  },
  {
    name: 'clean-up-skipped',
    breaks: 'Terminated goes to Finished without a clean-up (rule 8)',
    file: POD,
    find: `      initial: 'CleaningUp',`,
    replace: `      initial: 'Finished',`,
  },
  {
    name: 'failed-clean-up-is-enough',
    breaks: 'A clean-up that failed is not repeated until it succeeds (rule 8)',
    file: POD,
    find: `CLEANUP_FAILED: { actions: ['recordFailure'], target: 'BackingOff' }`,
    replace: `CLEANUP_FAILED: { target: 'Finished' }`,
  },

  // Trying again
  {
    name: 'failed-sync-not-repeated',
    breaks: 'No resync is armed after a failed sync (Times, I7)',
    file: POD,
    find: `          description: 'The last sync failed: it is tried again after a while',
          entry: ['armResync'],`,
    replace: `          description: 'The last sync failed: it is tried again after a while',
          entry: [],`,
  },
  {
    name: 'failed-stop-not-repeated',
    breaks: 'A failed stop is not repeated (I7)',
    file: POD,
    find: `          description: 'The last stop failed, or left something running: it is tried again after a while',
          entry: ['armResync'],`,
    replace: `          description: 'The last stop failed, or left something running: it is tried again after a while',
          entry: [],`,
  },
  {
    name: 'update-during-sync-lost',
    breaks: 'An update that comes during a sync does not lead to another sync (rule 2)',
    file: POD,
    find: `context.updatePending || ('again' in event && event.again)`,
    replace: `'again' in event && event.again`,
  },

  // Names
  {
    name: 'name-given-on-too-early',
    breaks: 'A static pod counts as ended when its stop begins: the next of its name starts beside it (I6)',
    file: POD,
    find: `      initial: 'Stopping',`,
    replace: `      entry: ['reportTerminated'],
      initial: 'Stopping',`,
  },
  {
    name: 'deleted-waiter-not-skipped',
    breaks:
      'A static pod that is deleted while it waits for its name gets it all the same, and keeps it (rule 10)',
    file: QUEUE,
    find: `claim.waiting.filter((other) => other !== uid)`,
    replace: `claim.waiting`,
  },

  // The supervisor
  {
    name: 'held-start-forgotten',
    breaks: 'A pod that waits for the runtime never hears that it is ready (I7)',
    file: SUPERVISOR,
    find: `          entry: ['resumeAllPods'],
`,
    replace: ``,
  },
  {
    name: 'start-while-runtime-is-away',
    breaks: 'A pod that is to start is told that the runtime is ready while it is not (the loop)',
    file: SUPERVISOR,
    find: `RUNTIME_AWAITED: { actions: ['answerRuntimeNotReady'] },`,
    replace: `RUNTIME_AWAITED: { actions: ['answerRuntimeReady'] },`,
  },
  {
    name: 'name-not-asked-for',
    breaks: 'A static pod starts without having been granted its name (I6)',
    file: POD,
    find: `REMOVED: [{ guard: 'isOfManifest', target: 'AwaitingName' }, { target: 'Admitting' }],`,
    replace: `REMOVED: { target: 'Admitting' },`,
  },
  {
    name: 'freed-room-unheard',
    breaks: 'A static pod that waits for room does not ask again when some is freed (I7)',
    file: POD,
    find: `ROOM_FREED: { target: 'Admitting' },`,
    replace: `ROOM_FREED: {},`,
  },
  {
    name: 'rejected-pod-starts',
    breaks: 'A pod that the node rejects is started (admission)',
    file: POD,
    find: `const REJECTED = {
  actions: ['recordRejection', 'recordTermination', 'reportRejected'],
  target: '#pod.Terminated.CleaningUp',
}`,
    replace: `const REJECTED = { actions: ['reportRejected'], target: '#pod.Syncing.Working' }`,
  },
  {
    name: 'housekeeping-before-sources',
    breaks: 'Pods of a source that has not been seen yet count as unwanted (rule 3, I10)',
    file: SUPERVISOR,
    find: `HOUSEKEEPING: { guard: 'sourcesReady', actions: ['handlePodCleanups'] },`,
    replace: `HOUSEKEEPING: { actions: ['handlePodCleanups'] },`,
  },
];
