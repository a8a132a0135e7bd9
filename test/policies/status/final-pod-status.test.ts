import { expect, test } from '@jest/globals';
import { finalPodStatus, generateAPIPodStatus } from '../../../src/policies/status/pod-status.ts';
import {
  EVICTED,
  SANDBOX,
  conditionOf,
  containerOf,
  factsOf,
  instance,
  podOf,
} from '../../support/pod-status-facts.ts';

test('a deleted pod whose containers ended with 0 has succeeded, whatever its restart policy', () => {
  const runtime = { sandboxes: [{ ...SANDBOX, ready: false }], containers: [instance('app', 'exited')] };
  expect(finalPodStatus(factsOf(podOf(), runtime)).phase).toBe('Succeeded');
});

test('if one container has failed, the pod has failed', () => {
  const pod = podOf({ containers: [{ name: 'a' }, { name: 'b' }] });
  const containers = [instance('a', 'exited'), instance('b', 'exited', { exitCode: 143 })];
  expect(finalPodStatus(factsOf(pod, { containers })).phase).toBe('Failed');
});

test('a container whose end was not seen has failed with 137, and so has the pod', () => {
  const previous = generateAPIPodStatus(
    factsOf(podOf(), { sandboxes: [SANDBOX], containers: [instance('app', 'running')] }),
  );
  const status = finalPodStatus(factsOf(podOf(), {}, { previous }));
  expect(status.phase).toBe('Failed');
  expect(containerOf(status, 'app')).toMatchObject({
    ready: false,
    state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } },
  });
  expect(conditionOf(status, 'Ready')).toMatchObject({ status: 'False', reason: 'PodFailed' });
});

test('a pod that was never started has failed', () => {
  const status = finalPodStatus(factsOf(podOf(), {}));
  expect(status.phase).toBe('Failed');
  expect(containerOf(status, 'app')?.state?.terminated?.exitCode).toBe(137);
});

test('what is known about the containers is kept', () => {
  const previous = finalPodStatus(
    factsOf(podOf(), { containers: [instance('app', 'exited', { exitCode: 7, finishedAt: 9 })] }),
  );
  expect(
    containerOf(finalPodStatus(factsOf(podOf(), {}, { previous })), 'app')?.state?.terminated,
  ).toMatchObject({
    exitCode: 7,
    finishedAt: '1970-01-01T00:00:09Z',
  });
});

test('containers that were never started stay waiting', () => {
  const pod = podOf({ initContainers: [{ name: 'i0' }, { name: 'i1' }, { name: 'i2' }] });
  const containers = [instance('i1', 'exited', { exitCode: 1 }), instance('i0', 'exited')];
  const status = finalPodStatus(factsOf(pod, { containers }));
  const ends = ['i0', 'i1', 'i2', 'app'].map(
    (name) => containerOf(status, name)?.state?.terminated?.exitCode,
  );
  expect(ends).toEqual([0, 1, undefined, undefined]);
  expect(status.phase).toBe('Failed');
});

test('the first init container counts as started in any case', () => {
  const pod = podOf({ initContainers: [{ name: 'i0' }, { name: 'i1' }] });
  const status = finalPodStatus(factsOf(pod, {}));
  const ends = ['i0', 'i1', 'app'].map((name) => containerOf(status, name)?.state?.terminated?.exitCode);
  expect(ends).toEqual([137, undefined, undefined]);
});

test('once the init containers have succeeded, the regular ones must have ended', () => {
  const pod = podOf({ initContainers: [{ name: 'init' }] });
  const status = finalPodStatus(factsOf(pod, { containers: [instance('init', 'exited')] }));
  expect(containerOf(status, 'app')?.state?.terminated?.exitCode).toBe(137);
});

test('the phase of a static pod depends on its containers only', () => {
  const pod = podOf();
  const annotations = { 'kubernetes.io/config.source': 'file' };
  const facts = factsOf(
    { ...pod, metadata: { ...pod.metadata, annotations } },
    {
      containers: [instance('app', 'exited', { exitCode: 1 })],
    },
  );
  expect(finalPodStatus(facts).phase).toBe('Running');
  expect(finalPodStatus({ ...facts, override: EVICTED }).phase).toBe('Failed');
});
