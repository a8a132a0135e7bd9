/** The pod's chart alone: the test itself says how effects end and what is answered. */
import { podMachine, type PodEvent } from '../../src/machines/pod-machine.ts';

const nothing = (): void => undefined;

export const podChart = podMachine.provide({
  actions: {
    awaitRuntime: nothing,
    awaitRemoval: nothing,
    requestName: nothing,
    requestRoom: nothing,
    makeRoom: nothing,
    reportDelay: nothing,
    reportAdmitted: nothing,
    reportRejected: nothing,
    startSync: nothing,
    abortSync: nothing,
    startStop: nothing,
    abortStop: nothing,
    startCleanup: nothing,
    armResync: nothing,
    disarmResync: nothing,
    reportTerminated: nothing,
    reportFinished: nothing,
  },
});

/** The way of a pod from its creation to its first sync, where nothing is in its way. Only static pods ask for their name. */
export const LEAVE_TO_START: readonly PodEvent[] = [
  { type: 'RUNTIME_READY' },
  { type: 'REMOVED' },
  { type: 'NAME_GRANTED' },
  { type: 'ADMITTED' },
];
