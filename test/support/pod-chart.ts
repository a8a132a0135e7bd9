/** The pod's chart alone. The test gives the results of its effects and the answers to its questions. */
import { podMachine, type PodEvent } from '../../src/agent/machines/pod-machine.ts';

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

/** The events of a pod from its creation to its admission. Only static pods ask for their name. */
export const LEAVE_TO_ASK_FOR_ROOM: readonly PodEvent[] = [
  { type: 'RUNTIME_READY' },
  { type: 'REMOVED' },
  { type: 'NAME_GRANTED' },
];

/** The events of a pod from its creation to its first sync, without obstacles. */
export const LEAVE_TO_START: readonly PodEvent[] = [...LEAVE_TO_ASK_FOR_ROOM, { type: 'ADMITTED' }];
