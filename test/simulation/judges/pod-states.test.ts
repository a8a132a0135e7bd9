import { expect, test } from '@jest/globals';
import { isEndingState, isPastSyncing, isTerminated } from '../../../src/simulation/judges/pod-states.ts';

test.each([
  ['Syncing.Working', { ending: false, terminated: false, pastSyncing: false }],
  ['Syncing.Settled', { ending: false, terminated: false, pastSyncing: false }],
  ['Syncing.Draining', { ending: true, terminated: false, pastSyncing: true }],
  ['Terminating.Stopping', { ending: true, terminated: false, pastSyncing: true }],
  ['Terminated.CleaningUp', { ending: false, terminated: true, pastSyncing: true }],
  ['Terminated.Finished', { ending: false, terminated: true, pastSyncing: true }],
])('%s: %j', (state, expected) => {
  expect({
    ending: isEndingState(state),
    terminated: isTerminated(state),
    pastSyncing: isPastSyncing(state),
  }).toEqual(expected);
});
