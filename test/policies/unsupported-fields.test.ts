import { expect, test } from '@jest/globals';
import { CRI_LIMITS, EMBEDDED_LIMITS, unsupportedFields } from '../../src/policies/unsupported-fields.ts';
import type { Pod } from '../../src/types/kubernetes.ts';
import { testPod } from '../support/pods.ts';

const withSpec = (spec: Partial<Pod['spec']>): Pod => {
  const pod = testPod();
  return { ...pod, spec: { ...pod.spec, ...spec } };
};

test('a pod that asks for nothing special has no such field', () => {
  const plain = withSpec({ volumes: [], containers: [{ name: 'a', volumeMounts: [] }] });
  expect(unsupportedFields(testPod(), EMBEDDED_LIMITS)).toEqual([]);
  expect(unsupportedFields(plain, EMBEDDED_LIMITS)).toEqual([]);
});

const ASKING = withSpec({
  volumes: [{ name: 'data', emptyDir: {} }],
  initContainers: [{ name: 'init', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
  containers: [
    {
      name: 'web',
      volumeDevices: [{ name: 'data', devicePath: '/dev/x' }],
      resources: { limits: { cpu: '1' } },
    },
  ],
});

test('plain processes have neither volumes nor limits: each field is named by its path, the container by its name', () => {
  expect(unsupportedFields(ASKING, EMBEDDED_LIMITS)).toEqual([
    'spec.volumes',
    'spec.containers[web].volumeDevices',
    'spec.containers[web].resources.limits',
    'spec.initContainers[init].volumeMounts',
  ]);
});

test('a container runtime has them, but for block devices', () => {
  expect(unsupportedFields(ASKING, CRI_LIMITS)).toEqual(['spec.containers[web].volumeDevices']);
});
