/** The events that are possible in each state of a pod, from its sources, its kills and its own effects. */
import type { SnapshotFrom } from 'xstate';
import { stateName } from '../../../src/agent/actors/transitions.ts';
import { podMachine, type PodEvent, type RuntimeHolds } from '../../../src/agent/machines/pod-machine.ts';
import {
  type KillPodOptions,
  RUNTIME_ONLY_GRACE_PERIOD_SECONDS,
} from '../../../src/agent/policies/termination/pod-termination.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { staticPod } from '../../support/agent.ts';
import { LASTING_COMMAND } from '../path-node.ts';
import type { Environment } from '../paths.ts';

export type PodState = SnapshotFrom<typeof podMachine>;

export const UID = 'uid-of-web';

/** A pod with two containers that run until the path ends them, and that are restarted when they fail. */
export const POD = staticPod('web', UID, {
  containers: ['main', 'second'].map((name) => ({ name, command: LASTING_COMMAND })),
  restartPolicy: 'OnFailure',
  terminationGracePeriodSeconds: 30,
});
/** The same pod from the API server. */
const API_POD: Pod = { ...POD, metadata: { ...POD.metadata, annotations: {} } };
const DELETED = withMetadata({ deletionTimestamp: '2030-01-01T00:00:00Z' });
const DELETED_SOONER = withMetadata({ ...DELETED.metadata, deletionGracePeriodSeconds: 10 });
const FAILED: Pod = { ...POD, status: { phase: 'Failed' } };

function withMetadata(metadata: Partial<Pod['metadata']>): Pod {
  return { ...POD, metadata: { ...POD.metadata, ...metadata } };
}

const create = (pod: Pod): PodEvent => ({ type: 'SyncPodCreate', pod });
const update = (pod: Pod): PodEvent => ({ type: 'SyncPodUpdate', pod });
const kill = (options: KillPodOptions): PodEvent => ({ type: 'SyncPodKill', options });

const SHORTAGE = { reason: 'OutOfcpu', message: 'too little cpu' };

/** Events from the sources, from kills, and from the supervisor. */
const TOLD = {
  create: create(POD),
  createDeleted: create(DELETED),
  createFailed: create(FAILED),
  update: update(POD),
  deleted: update(DELETED),
  deletedSooner: update(DELETED_SOONER),
  failed: update(FAILED),
  sync: { type: 'SyncPodSync' },
  kill: kill({}),
  killIn10: kill({ podTerminationGracePeriodSecondsOverride: 10 }),
  evictIn1: kill({
    podTerminationGracePeriodSecondsOverride: 1,
    evict: true,
    podStatus: { phase: 'Failed', reason: 'Evicted' },
  }),
  /** The kill of a pod that only the runtime knows. */
  killOrphan: kill({ podTerminationGracePeriodSecondsOverride: RUNTIME_ONLY_GRACE_PERIOD_SECONDS }),
  runtimeReady: { type: 'RUNTIME_READY' },
  runtimeLost: { type: 'RUNTIME_NOT_READY', problem: 'it is down' },
} as const satisfies Record<string, PodEvent>;

/** The answers that the pod gets before it may start. */
const ANSWERS = {
  removing: { type: 'REMOVING' },
  removed: { type: 'REMOVED' },
  nameTaken: { type: 'NAME_TAKEN', delay: { reason: 'NameTaken', message: 'waits for another' } },
  nameGranted: { type: 'NAME_GRANTED' },
  admitted: { type: 'ADMITTED' },
  short: { type: 'SHORT', ...SHORTAGE },
  preempting: { type: 'PREEMPTING', delay: { reason: 'MakingRoom', message: 'waits for cpu=1' } },
  noRoom: { type: 'REJECTED', ...SHORTAGE, lack: SHORTAGE },
  rejected: { type: 'REJECTED', reason: 'NodeAffinity', message: 'not on this node' },
  roomFreed: { type: 'ROOM_FREED' },
} as const satisfies Record<string, PodEvent>;

/** The events that end the effect in flight. */
const OUTCOMES = {
  synced: { type: 'SYNC_DONE', terminal: false, again: false },
  syncedMoreToDo: { type: 'SYNC_DONE', terminal: false, again: true },
  syncedToTheEnd: { type: 'SYNC_DONE', terminal: true, again: false },
  syncFailed: { type: 'SYNC_FAILED', reason: { kind: 'failed' }, again: false },
  syncFailedMoreToDo: { type: 'SYNC_FAILED', reason: { kind: 'failed' }, again: true },
  atRest: { type: 'AT_REST' },
  stopped: { type: 'STOP_DONE' },
  stopFailed: { type: 'STOP_FAILED' },
  cleanedUp: { type: 'CLEANUP_DONE' },
  cleanupFailed: { type: 'CLEANUP_FAILED' },
} as const satisfies Record<string, PodEvent>;

export const POD_EVENTS = { ...TOLD, ...ANSWERS, ...OUTCOMES };
export type PodEventName = keyof typeof POD_EVENTS;
type PodEvents = Readonly<Record<PodEventName, PodEvent>>;

/** The events of a pod from the API server. It does not wait for a name or for room. */
export const API_POD_EVENTS: PodEvents = { ...POD_EVENTS, create: create(API_POD), update: update(API_POD) };
export type Outcome = keyof typeof OUTCOMES;
export type Answer = keyof typeof ANSWERS;

export function isOutcome(name: string): name is Outcome {
  return name in OUTCOMES;
}

export function isAnswer(name: string): name is Answer {
  return name in ANSWERS;
}

/** The states in which an effect is in flight, and how it may end there. */
const ENDS_OF_EFFECTS: Readonly<Record<string, readonly Outcome[]>> = {
  'Syncing.Working': ['synced', 'syncedMoreToDo', 'syncedToTheEnd', 'syncFailed', 'syncFailedMoreToDo'],
  'Syncing.Draining': ['synced', 'syncFailed', 'atRest'],
  'Terminating.Stopping': ['stopped', 'stopFailed'],
  'Terminating.Shortening': ['stopped', 'atRest'],
  'Terminated.CleaningUp': ['cleanedUp', 'cleanupFailed'],
};

/** The events that a pod may get in the states before its start. */
const BEFORE_THE_START: Readonly<Record<string, readonly PodEventName[]>> = {
  'Syncing.Starting.AwaitingRuntime': ['runtimeReady', 'runtimeLost'],
  'Syncing.Starting.AwaitingRemoval': ['removing', 'removed', 'runtimeLost'],
  'Syncing.Starting.AwaitingName': ['nameTaken', 'nameGranted', 'runtimeLost'],
  'Syncing.Starting.Admitting': ['admitted', 'short', 'noRoom', 'rejected', 'runtimeLost'],
  'Syncing.Starting.AwaitingRoom': ['roomFreed', 'runtimeLost'],
  'Syncing.Starting.MakingRoom': ['preempting', 'admitted', 'noRoom', 'rejected', 'runtimeLost'],
};

const FIRST: readonly PodEventName[] = [
  ...(['create', 'createDeleted', 'createFailed'] as const),
  ...(['update', 'deleted', 'deletedSooner', 'failed'] as const),
];
const LATER: readonly PodEventName[] = [...FIRST, 'sync', 'kill', 'killIn10', 'evictIn1'];

export function podEnvironment(
  runtimeHolds: RuntimeHolds,
  events: PodEvents = POD_EVENTS,
): Environment<typeof podMachine> {
  return {
    machine: podMachine,
    input: { uid: UID, fullName: 'web_default', runtimeHolds },
    events,
    possible,
    label: podLabel,
  };
}

function possible(state: PodState): readonly PodEventName[] {
  const at = stateName(state.value);
  if (at === 'Syncing.Starting.New')
    return state.context.runtimeHolds === 'running' ? [...FIRST, 'killOrphan'] : FIRST;
  return [...LATER, ...(BEFORE_THE_START[at] ?? []), ...(ENDS_OF_EFFECTS[at] ?? [])];
}

/** The state, with the parts of its context that decide what may come next. */
function podLabel(state: PodState): string {
  const { context } = state;
  const at = stateName(state.value);
  const isSyncing = state.matches('Syncing');
  const ends = at === 'Syncing.Draining' || state.matches('Terminating');
  const marks = [
    context.pod === undefined && 'unknown',
    context.rejection !== undefined && 'rejected',
    at === 'Syncing.Working' && context.updatePending && 'pending',
    isSyncing && context.lastOutcome.kind !== 'synced' && 'failed before',
    ends && `${String(context.gracePeriodSeconds)} s`,
    context.restartRequested && 'restart',
  ];
  return [at, ...marks.filter((mark) => mark !== false)].join(', ');
}
