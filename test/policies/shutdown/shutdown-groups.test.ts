import { expect, test } from '@jest/globals';
import { groupByPriority } from '../../../src/policies/shutdown/shutdown-groups.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';
import { testPod } from '../../support/pods.ts';
import { testVectors } from '../../support/test-vectors.ts';

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
