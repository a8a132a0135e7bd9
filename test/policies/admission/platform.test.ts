import { expect, test } from '@jest/globals';
import { nodeLabels, platformRejection } from '../../../src/policies/admission/platform.ts';
import { requestingPod, testNode } from '../../support/admission.ts';

test('selectors see the real operating system, whatever the labels of the node say', () => {
  expect(Object.fromEntries(nodeLabels(testNode()))).toEqual({
    zone: 'a',
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'amd64',
  });
  const labelled = testNode({ labels: { 'kubernetes.io/os': 'plan9', 'kubernetes.io/arch': 'arm64' } });
  expect(Object.fromEntries(nodeLabels(labelled))).toEqual({
    'kubernetes.io/os': 'linux',
    'kubernetes.io/arch': 'arm64',
  });
});

test('a pod for another operating system is rejected, whether its label or its field says so', () => {
  const { metadata, spec } = requestingPod('p');
  const labelled = (os: string) => ({ spec, metadata: { ...metadata, labels: { 'kubernetes.io/os': os } } });
  expect(platformRejection(testNode(), labelled('windows'))?.reason).toBe(
    'PodOSSelectorNodeLabelDoesNotMatch',
  );
  expect(platformRejection(testNode(), labelled('linux'))).toBeUndefined();
  const asking = (name: string) => requestingPod('p', { os: { name } });
  expect(platformRejection(testNode(), asking('windows'))?.reason).toBe('PodOSNotSupported');
  expect(platformRejection(testNode(), asking('linux'))).toBeUndefined();
});

test('a pod with the policy Strict for groups needs a runtime that supports it', () => {
  const asking = (supplementalGroupsPolicy: string) =>
    requestingPod('p', { securityContext: { supplementalGroupsPolicy } });
  const unable = testNode({ supplementalGroupsPolicy: false });
  expect(platformRejection(unable, asking('Strict'))).toEqual({
    reason: 'SupplementalGroupsPolicyNotSupported',
    message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
  });
  expect(platformRejection(unable, asking('Merge'))).toBeUndefined();
  expect(platformRejection(testNode(), asking('Strict'))).toBeUndefined();
});
