import { expect, test } from '@jest/globals';
import { type PodFacts, statusOf, toKill, unknownState } from '../../../src/policies/sync/pod-facts.ts';
import { podOf } from '../../support/pod-status-facts.ts';
import { runtimePodStatus } from '../../support/runtime-pod-status.ts';

const APP = { name: 'app', image: 'app:1' };
const podStatus = runtimePodStatus({
  containers: [
    { id: 'a2', name: 'app', state: 'unknown' },
    { id: 'a1', name: 'app', state: 'exited' },
  ],
});
const FACTS: PodFacts = {
  pod: podOf(),
  podStatus,
  liveness: new Map(),
  startup: new Map(),
  restartAllContainers: false,
  specChanged: () => false,
};

test("a container's status is that of its newest instance", () => {
  expect(statusOf(FACTS, APP)?.id).toBe('a2');
  expect(statusOf(FACTS, { name: 'other' })).toBeUndefined();
});

test("an instance in an unknown state is killed with the kubelet's words", () => {
  expect(toKill(APP, podStatus.containers[0]!, unknownState('Container'))).toEqual({
    id: 'a2',
    name: 'app',
    container: APP,
    reason: 'Unknown',
    message: 'Container is in "unknown" state, try killing it before restart',
  });
});
