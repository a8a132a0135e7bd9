/** Steps through the pod's chart alone: its events, and the events that lead to each of its states. */
import { podMachine, type PodEvent, type RuntimeHolds } from '../../src/agent/machines/pod-machine.ts';
import { CONFIG_SOURCE_ANNOTATION } from '../../src/agent/policies/pod/pod-kinds.ts';
import type { KillPodOptions } from '../../src/agent/policies/termination/pod-termination.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { testPod } from './pods.ts';
import { Stepper } from './stepper.ts';

export const create = (pod: Pod = testPod()): PodEvent => ({ type: 'SyncPodCreate', pod });
export const update = (pod: Pod = testPod()): PodEvent => ({ type: 'SyncPodUpdate', pod });
export const kill = (options?: KillPodOptions): PodEvent => ({
  type: 'SyncPodKill',
  ...(options && { options }),
});
export const grace = (seconds: number): KillPodOptions => ({
  podTerminationGracePeriodSecondsOverride: seconds,
});
export const SYNC: PodEvent = { type: 'SyncPodSync' };
export const READY: PodEvent = { type: 'RUNTIME_READY' };
export const NOT_READY: PodEvent = { type: 'RUNTIME_NOT_READY', problem: 'it is down' };
export const REMOVED: PodEvent = { type: 'REMOVED' };
export const NAME_GRANTED: PodEvent = { type: 'NAME_GRANTED' };
export const ADMITTED: PodEvent = { type: 'ADMITTED' };
export const SHORTAGE = { reason: 'OutOfcpu', message: 'too little cpu' };
export const SHORT: PodEvent = { type: 'SHORT', ...SHORTAGE };
export const REFUSED: PodEvent = { type: 'REJECTED', reason: 'NodeAffinity', message: 'not here' };
export const NO_ROOM: PodEvent = { type: 'REJECTED', ...SHORTAGE, lack: SHORTAGE };
export const ROOM_FREED: PodEvent = { type: 'ROOM_FREED' };
export const taken = (message: string): PodEvent => ({
  type: 'NAME_TAKEN',
  delay: { reason: 'NameTaken', message },
});
export const staticPod = (): Pod => testPod({ annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file' } });
export const synced = (more: { terminal?: boolean; again?: boolean } = {}): PodEvent => ({
  type: 'SYNC_DONE',
  terminal: false,
  again: false,
  ...more,
});
export const syncFailed = (again = false): PodEvent => ({
  type: 'SYNC_FAILED',
  reason: { kind: 'failed' },
  again,
});
export const STOPPED: PodEvent = { type: 'STOP_DONE' };
export const STOP_FAILED: PodEvent = { type: 'STOP_FAILED' };
export const CLEANED: PodEvent = { type: 'CLEANUP_DONE' };
export const AT_REST: PodEvent = { type: 'AT_REST' };
export const deleted = testPod({ deleted: true, deletionGracePeriodSeconds: 20 });

export function pod(runtimeHolds: RuntimeHolds = 'nothing') {
  return new Stepper(podMachine, { uid: 'uid-of-web', fullName: 'web_default', runtimeHolds });
}
export const awaitingRuntime = (of = testPod()) => pod().send(create(of));
export const awaitingRemoval = (of = testPod()) => awaitingRuntime(of).send(READY);
export const awaitingName = () => awaitingRemoval(staticPod()).send(REMOVED);
export const admitting = () => awaitingRemoval().send(REMOVED);
export const awaitingRoom = () => awaitingName().send(NAME_GRANTED, NO_ROOM);
export const makingRoom = () => admitting().send(SHORT);
export const working = () => admitting().send(ADMITTED);
export const settled = () => working().send(synced());
export const draining = () => working().send(kill());
export const stopping = () => settled().send(kill());
export const cleaningUp = () => stopping().send(STOPPED);
export const finished = () => cleaningUp().send(CLEANED);
