import { expect, test } from '@jest/globals';
import { unsupportedFields } from '../../src/policies/unsupported-fields.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { testPod } from '../support/pods.ts';

const withSpec = (spec: Partial<Pod['spec']>): Pod => {
  const pod = testPod();
  return { ...pod, spec: { ...pod.spec, ...spec } };
};

test('a pod that asks for nothing special has no such field', () => {
  expect(unsupportedFields(testPod())).toEqual([]);
  expect(unsupportedFields(withSpec({ volumes: [], containers: [{ name: 'a', volumeMounts: [] }] }))).toEqual(
    [],
  );
});

test('each field is named by its path, the container by its name', () => {
  const pod = withSpec({
    activeDeadlineSeconds: 60,
    volumes: [{ name: 'data', emptyDir: {} }],
    initContainers: [{ name: 'init', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
    containers: [{ name: 'web', readinessProbe: { periodSeconds: 1 }, resources: { limits: { cpu: '1' } } }],
  });
  expect(unsupportedFields(pod)).toEqual([
    'spec.activeDeadlineSeconds',
    'spec.volumes',
    'spec.containers[web].readinessProbe',
    'spec.containers[web].resources.limits',
    'spec.initContainers[init].volumeMounts',
  ]);
});
