import { describe, expect, test } from '@jest/globals';
import {
  generateAPIPodStatus,
  type PodStatusFacts,
} from '../../../../src/agent/policies/status/pod-status.ts';
import {
  admittedPodStatus,
  rejectedPodStatus,
  terminatedStatus,
  waitingPodStatus,
} from '../../../../src/agent/policies/status/status-changes.ts';
import type { PodStatus } from '../../../../src/types/kubernetes.ts';
import { requestingPod } from '../../../support/admission.ts';
import {
  conditionOf,
  containerOf,
  EVICTED,
  factsOf,
  instance,
  podOf,
  SANDBOX,
} from '../../../support/pod-status-facts.ts';

/** The last status of a pod of which the runtime knows that. */
function lastStatus(facts: PodStatusFacts): PodStatus {
  return terminatedStatus(facts.pod, generateAPIPodStatus({ ...facts, podIsTerminal: true }));
}

test('a deleted pod whose containers ended with 0 has succeeded, whatever its restart policy', () => {
  const runtime = { sandboxes: [{ ...SANDBOX, ready: false }], containers: [instance('app', 'exited')] };
  expect(lastStatus(factsOf(podOf(), runtime)).phase).toBe('Succeeded');
});

test('if one container has failed, the pod has failed', () => {
  const pod = podOf({ containers: [{ name: 'a' }, { name: 'b' }] });
  const containers = [instance('a', 'exited'), instance('b', 'exited', { exitCode: 143 })];
  expect(lastStatus(factsOf(pod, { containers })).phase).toBe('Failed');
});

test('a container whose end was not seen has failed with 137, and so has the pod', () => {
  const previous = generateAPIPodStatus(
    factsOf(podOf(), { sandboxes: [SANDBOX], containers: [instance('app', 'running')] }),
  );
  const status = lastStatus(factsOf(podOf(), {}, { previous }));
  expect(status.phase).toBe('Failed');
  expect(containerOf(status, 'app')).toMatchObject({
    ready: false,
    state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
  });
});

test('the conditions of a pod that was never started go on saying what it waited for', () => {
  const status = lastStatus(factsOf(podOf(), {}));
  expect(status.phase).toBe('Failed');
  const unready = { status: 'False', reason: 'ContainersNotReady' };
  expect(conditionOf(status, 'Ready')).toMatchObject(unready);
  expect(conditionOf(status, 'ContainersReady')).toMatchObject(unready);
});

test('what is known about the containers is kept', () => {
  const containers = [instance('app', 'exited', { exitCode: 7, finishedAt: 9 })];
  const previous = lastStatus(factsOf(podOf(), { containers }));
  const { state } = containerOf(lastStatus(factsOf(podOf(), {}, { previous })), 'app') ?? {};
  expect(state?.terminated).toMatchObject({ exitCode: 7, finishedAt: '1970-01-01T00:00:09Z' });
});

test('a container that was not started because the pod ended in its init containers stays waiting', () => {
  const status = {
    initContainerStatuses: [{ name: 'init', state: { running: {} } }],
  } as unknown as PodStatus;
  const pod = podOf({ initContainers: [{ name: 'init' }] }, { status });
  const last = lastStatus(factsOf(pod, { containers: [instance('init', 'exited')] }));
  expect(containerOf(last, 'app')?.state).toEqual({ waiting: { reason: 'PodInitializing' } });
});

test('the phase of a static pod depends on its containers only', () => {
  const pod = podOf();
  const annotations = { 'kubernetes.io/config.source': 'file' };
  const containers = [instance('app', 'exited', { exitCode: 1 })];
  const facts = factsOf({ ...pod, metadata: { ...pod.metadata, annotations } }, { containers });
  expect(lastStatus(facts).phase).toBe('Running');
  expect(lastStatus({ ...facts, override: EVICTED }).phase).toBe('Failed');
});

const POD = requestingPod('web', { requests: { cpu: '1' } });

const REJECTION = { reason: 'OutOfcpu', message: "Node didn't have enough resource: cpu" };

const AT = '2030-01-01T00:00:00Z';

describe('the status of a pod that has not been started', () => {
  test('that was rejected has failed, with a start time and the words of the kubelet', () => {
    expect(rejectedPodStatus(POD, REJECTION, AT)).toEqual({
      phase: 'Failed',
      reason: 'OutOfcpu',
      message: "Pod was rejected: Node didn't have enough resource: cpu",
      startTime: AT,
      qosClass: 'Burstable',
    });
  });

  test('that waits is Pending with the reason, and has no start time', () => {
    expect(waitingPodStatus(POD, REJECTION)).toEqual({
      phase: 'Pending',
      ...REJECTION,
      qosClass: 'Burstable',
    });
  });

  test('that was admitted after a wait is Pending without a reason', () => {
    expect(admittedPodStatus(POD)).toEqual({ phase: 'Pending', qosClass: 'Burstable' });
  });

  test('has the generation of its pod', () => {
    const pod = { ...POD, metadata: { ...POD.metadata, generation: 3 } };
    const statuses = [
      rejectedPodStatus(pod, REJECTION, AT),
      waitingPodStatus(pod, REJECTION),
      admittedPodStatus(pod),
    ];
    expect(statuses.map(({ observedGeneration }) => observedGeneration)).toEqual([3, 3, 3]);
  });
});
