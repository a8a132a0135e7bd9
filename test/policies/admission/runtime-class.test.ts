import { describe, expect, test } from '@jest/globals';
import {
  knownRuntimeHandler,
  runtimeClassesOf,
  runtimeHandler,
} from '../../../src/policies/admission/runtime-class.ts';
import { testPod } from '../../support/pods.ts';
import { testVectors } from '../../support/test-vectors.ts';

testVectors('runtimeClass');

const podOf = (runtimeClassName?: string) => {
  const base = testPod();
  return { ...base, spec: { ...base.spec, ...(runtimeClassName !== undefined && { runtimeClassName }) } };
};
const CLASSES = runtimeClassesOf(['gvisor=runsc', 'plain=']);

test('a pod without a RuntimeClass has the default handler of the runtime', () => {
  expect(runtimeHandler(podOf(), CLASSES)).toBeUndefined();
  expect(runtimeHandler(podOf(''), CLASSES)).toBeUndefined();
});

test('a pod of a known RuntimeClass has its handler', () => {
  expect(runtimeHandler(podOf('gvisor'), CLASSES)).toBe('runsc');
  expect(runtimeHandler(podOf('plain'), CLASSES)).toBeUndefined();
});

describe('a pod of an unknown RuntimeClass', () => {
  test('is refused, not run by the default handler', () => {
    expect(() => runtimeHandler(podOf('kata'), CLASSES)).toThrow(
      expect.objectContaining({ kind: 'FailedPrecondition' }),
    );
  });

  test('is told in the words of the kubelet', () => {
    expect(() => runtimeHandler(podOf('kata'), { ...CLASSES, areOfCluster: true })).toThrow(
      /^runtimeclass\.node\.k8s\.io "kata" not found$/,
    );
  });

  test('hears on a node without a cluster which classes there are', () => {
    expect(() => runtimeHandler(podOf('kata'), CLASSES)).toThrow(
      'runtimeclass.node.k8s.io "kata" not found: this node knows gvisor, plain; leave',
    );
    expect(() => runtimeHandler(podOf('kata'), runtimeClassesOf([]))).toThrow('this node knows none');
  });

  test('has the default handler where its sandbox exists: the class was deleted since', () => {
    expect(knownRuntimeHandler(podOf('kata'), CLASSES)).toBeUndefined();
    expect(knownRuntimeHandler(podOf('gvisor'), CLASSES)).toBe('runsc');
  });
});
