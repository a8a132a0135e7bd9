import { expect, test } from '@jest/globals';
import { endedInstances } from '../../src/policies/ended-instances.ts';
import type { PodStatus } from '../../src/types/kubernetes.ts';

const ended = (containerID: string, exitCode = 0) => ({
  terminated: { containerID, exitCode, reason: 'Error' },
});
const status = (state: object, lastState: object = {}): PodStatus => ({
  containerStatuses: [
    { name: 'main', image: '', imageID: '', ready: false, restartCount: 0, state, lastState },
  ],
});
const RUNNING = { running: { startedAt: '2030-01-01T00:00:00Z' } };

test('an end is told once', () => {
  const after = status(ended('statelet://1', 3));
  expect(endedInstances(status(RUNNING), after)).toEqual([{ name: 'main', exitCode: 3, reason: 'Error' }]);
  expect(endedInstances(after, status(RUNNING, ended('statelet://1', 3)))).toEqual([]);
});

test('an instance that ended and was followed by another between two reports is not missed', () => {
  expect(endedInstances(status(RUNNING), status(RUNNING, ended('statelet://1', 1)))).toHaveLength(1);
});

test('without an earlier report nothing is news', () => {
  expect(endedInstances(undefined, status(ended('statelet://1')))).toEqual([]);
});
