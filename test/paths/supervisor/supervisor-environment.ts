/** The events of the supervisor: from its streams, from its pods, and from the shutdown of the agent. */
import type { SnapshotFrom } from 'xstate';
import { supervisorMachine, type SupervisorEvent } from '../../../src/agent/machines/supervisor-machine.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { staticPod } from '../../support/agent.ts';
import { LASTING_COMMAND } from '../path-node.ts';
import type { Environment } from '../paths.ts';

export type SupervisorState = SnapshotFrom<typeof supervisorMachine>;

const lasting = (name: string, uid: string) =>
  staticPod(name, uid, { containers: [{ name: 'main', command: LASTING_COMMAND }] });

/** The pods at the start of a path, and one that is added later. */
export const PODS = {
  /** Runs, and no source wants it any more. */
  ending: lasting('web', 'uid-of-ending'),
  /** Has the same name, and waits. */
  waiting: lasting('web', 'uid-of-waiting'),
  /** Runs, and is wanted. */
  wanted: lasting('db', 'uid-of-wanted'),
  added: lasting('cache', 'uid-of-added'),
};

const { wanted, added, ending, waiting } = PODS;
const uid = wanted.metadata.uid;
const config = (op: 'ADD' | 'UPDATE' | 'DELETE' | 'REMOVE' | 'RECONCILE', pod: Pod) =>
  ({ type: `CONFIG.${op}`, source: 'file', pods: [pod] }) as const;
const changed = (metadata: Partial<Pod['metadata']>): Pod => ({
  ...wanted,
  metadata: { ...wanted.metadata, ...metadata },
});

/** The condition of its readiness gate is missing: by its status it is ready, and it must not be. */
const gated: Pod = {
  ...wanted,
  spec: { ...wanted.spec, readinessGates: [{ conditionType: 'example.com/ready' }] },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
};

/** Events of the streams and of the shutdown. */
const SENT = {
  fileSeen: { type: 'SOURCE_SEEN', source: 'file' },
  httpSeen: { type: 'SOURCE_SEEN', source: 'http' },
  ready: { type: 'RUNTIME_READY' },
  notReady: { type: 'RUNTIME_NOT_READY', problem: 'it is down' },
  add: config('ADD', added),
  update: config('UPDATE', changed({ labels: { version: '2' } })),
  delete: config('DELETE', changed({ deletionTimestamp: '2030-01-01T00:00:00Z' })),
  remove: config('REMOVE', wanted),
  reconcile: config('RECONCILE', gated),
  pleg: { type: 'PLEG', uid },
  sync: { type: 'SYNC', uids: [uid] },
  probe: { type: 'PROBE', uid, probe: 'readiness', result: 'Failure' },
  /** This result changes nothing. */
  livenessProbe: { type: 'PROBE', uid, probe: 'liveness', result: 'Success' },
  housekeeping: { type: 'HOUSEKEEPING' },
  leave: { type: 'SHUTDOWN', exitWithPods: false },
  leaveWithPods: { type: 'SHUTDOWN', exitWithPods: true },
} as const satisfies Record<string, SupervisorEvent>;

/** Events of the pods. */
const FROM_PODS = {
  runtimeAwaited: { type: 'RUNTIME_AWAITED', uid: waiting.metadata.uid },
  podTerminated: { type: 'POD_TERMINATED', uid: ending.metadata.uid },
  podFinished: { type: 'POD_FINISHED', uid: ending.metadata.uid, restartRequested: false },
  actorForgotten: { type: 'ACTOR_FORGOTTEN', actor: {} as never },
  podFailed: { type: 'xstate.error.actor.db_default uid-of-wanted', error: new Error(), actorId: '' },
  allPodsGone: { type: 'ALL_PODS_GONE' },
} as const satisfies Record<string, SupervisorEvent>;

export const SUPERVISOR_EVENTS = { ...SENT, ...FROM_PODS };
export type SupervisorEventName = keyof typeof SUPERVISOR_EVENTS;
export type FromPods = keyof typeof FROM_PODS;

export function isFromPods(name: string): name is FromPods {
  return name in FROM_PODS;
}

export function supervisorEnvironment(sources: readonly string[]): Environment<typeof supervisorMachine> {
  return {
    machine: supervisorMachine,
    input: { sources },
    events: SUPERVISOR_EVENTS,
    possible: (state) => Object.keys(SUPERVISOR_EVENTS).filter((name) => isPossible(name, state)),
    label: ({ value, context }) => `${JSON.stringify(value)} ${context.unseenSources.join()}`,
  };
}

/** Pods do not request a start while the agent ends all of them, and only then ALL_PODS_GONE comes. */
function isPossible(name: string, state: SupervisorState): boolean {
  const ends = state.matches({ Loop: 'EndingPods' });
  if (name === 'runtimeAwaited') return !ends;
  return name === 'allPodsGone' ? ends : true;
}
