import { expect, test } from '@jest/globals';
import {
  groupByPriority,
  shutdownKill,
} from '../../../../src/agent/policies/termination/shutdown-periods.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('nodeShutdown');

const withPriority = (name: string, priority: number): Pod => {
  const pod = testPod({ name });
  return { ...pod, spec: { ...pod.spec, priority } };
};

test('a pod belongs to the highest period that is not above its priority, else to the lowest', () => {
  const periods = [100, 1000].map((priority) => ({ priority, shutdownGracePeriodSeconds: 10 }));
  const pods = [withPriority('low', 5), withPriority('equal', 1000), withPriority('between', 999), testPod()];
  const names = groupByPriority(periods, pods).map((group) =>
    group.pods.map(({ metadata }) => metadata.name),
  );
  expect(names).toEqual([['low', 'between', 'web'], ['equal']]);
});

const PERIOD = { priority: 0, shutdownGracePeriodSeconds: 20 };

test('a pod has the shorter one of its own grace period and that of its group', () => {
  const graceOf = (seconds: number) =>
    shutdownKill(testPod({ terminationGracePeriodSeconds: seconds }), 'Running', PERIOD, 0)
      .podTerminationGracePeriodSecondsOverride;
  expect([graceOf(5), graceOf(60)]).toEqual([5, 20]);
});

test('the status says why the pod ended; a pod that succeeded stays so', () => {
  const status = shutdownKill(testPod(), 'Running', PERIOD, Date.UTC(2030, 0, 1)).podStatus;
  expect(status).toMatchObject({
    phase: 'Failed',
    reason: 'Terminated',
    message: 'Pod was terminated in response to imminent node shutdown.',
    conditions: [
      {
        type: 'DisruptionTarget',
        reason: 'TerminationByKubelet',
        lastTransitionTime: '2030-01-01T00:00:00Z',
      },
    ],
  });
  expect(shutdownKill(testPod(), 'Succeeded', PERIOD, 0).podStatus).not.toHaveProperty('phase');
});
