import { expect, test } from '@jest/globals';
import { generateAPIPodStatus, type PodStatusFacts } from '../../../src/policies/status/pod-status.ts';
import { terminatedStatus } from '../../../src/policies/status-sync/terminated-status.ts';
import type { PodStatus } from '../../../src/types/kubernetes.ts';
import {
  EVICTED,
  SANDBOX,
  conditionOf,
  containerOf,
  factsOf,
  instance,
  podOf,
} from '../../support/pod-status-facts.ts';

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
