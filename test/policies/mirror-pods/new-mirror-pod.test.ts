import { expect, test } from '@jest/globals';
import { newMirrorPod } from '../../../src/policies/mirror-pods/new-mirror-pod.ts';
import { CONFIG_HASH_ANNOTATION, CONFIG_MIRROR_ANNOTATION } from '../../../src/policies/pod/pod-kinds.ts';
import { testPod } from '../../support/pods.ts';

const pod = testPod({ name: 'web', uid: 'static', annotations: { [CONFIG_HASH_ANNOTATION]: 'hash' } });

test('a mirror pod is a copy with the hash of its static pod, owned by the node, without a status', () => {
  const node = { metadata: { name: 'node-1', uid: 'node-uid' } };
  const made = newMirrorPod({ ...pod, status: { phase: 'Running' } }, 'node-1', node);
  expect(made).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...pod.metadata,
      annotations: { [CONFIG_HASH_ANNOTATION]: 'hash', [CONFIG_MIRROR_ANNOTATION]: 'hash' },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Node', name: 'node-1', uid: 'node-uid', controller: true },
      ],
    },
    spec: pod.spec,
  });
});

test('without the UID of the node no mirror pod can be made', () => {
  expect(() => newMirrorPod(pod, 'node-1', undefined)).toThrow('node "node-1" not found');
  expect(() => newMirrorPod(pod, 'node-1', { metadata: { name: 'node-1' } })).toThrow('UID unset for node');
});
