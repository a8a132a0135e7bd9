import { describe, expect, test } from '@jest/globals';
import { resultBeforeRestart } from '../../../src/policies/status/results-before-restart.ts';
import type { ContainerStatus, PodStatus } from '../../../src/types/kubernetes.ts';
import { instance, podOf } from '../../support/pod-status-facts.ts';
import { runtimePodStatus } from '../../support/runtime-pod-status.ts';

const AGENT_STARTED_AT = 100_000;

/** `ranFor`: in seconds, when the agent started. */
function before(ranFor: number, status: PodStatus, probe: 'startup' | 'readiness', id = 'app-1') {
  const app = instance('app', 'running', { startedAt: AGENT_STARTED_AT / 1000 - ranFor });
  const facts = {
    pod: podOf({}, { status }),
    podStatus: runtimePodStatus({ containers: [app] }),
    previous: status,
    agentStartedAt: AGENT_STARTED_AT,
  };
  return resultBeforeRestart(facts, probe, id);
}

const ready = (status: string): PodStatus => ({ conditions: [{ type: 'Ready', status }] });

describe('the readiness of a container that ran before the agent', () => {
  test('is kept where the API server shows the pod as ready', () => {
    expect(before(11, ready('True'), 'readiness')).toBe('Success');
    expect(before(11, ready('False'), 'readiness')).toBeUndefined();
    expect(before(11, {}, 'readiness')).toBeUndefined();
  });

  test('is not assumed where it ran for 10 s or less, or is another container', () => {
    expect(before(10, ready('True'), 'readiness')).toBeUndefined();
    expect(before(-5, ready('True'), 'readiness')).toBeUndefined();
    expect(before(11, ready('True'), 'readiness', 'app-2')).toBeUndefined();
  });
});

test('a container that has started stays started, and its successor begins anew', () => {
  const app: ContainerStatus = {
    name: 'app',
    image: '',
    imageID: '',
    containerID: 'containerd://app-1',
    ready: true,
    restartCount: 0,
    started: true,
  };
  expect(before(1, { containerStatuses: [app] }, 'startup')).toBe('Success');
  expect(before(1, { initContainerStatuses: [app] }, 'startup')).toBe('Success');
  expect(before(1, { containerStatuses: [app] }, 'startup', 'app-2')).toBeUndefined();
  expect(before(1, { containerStatuses: [{ ...app, started: false }] }, 'startup')).toBeUndefined();
});
