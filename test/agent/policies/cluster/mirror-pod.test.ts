import { expect, test } from '@jest/globals';
import { newMirrorPod, planMirrorPod } from '../../../../src/agent/policies/cluster/mirror-pod.ts';
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  MANIFEST_HASH_ANNOTATION,
} from '../../../../src/agent/policies/pod/pod-kinds.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { testVectors } from '../../../support/test-vectors.ts';

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

testVectors('mirrorPods');

const plannedPod = testPod({
  name: 'web',
  uid: 'static',
  annotations: { [CONFIG_SOURCE_ANNOTATION]: 'file', [CONFIG_HASH_ANNOTATION]: 'static' },
});

const mirrorOf = (hash: string, deleted = false) =>
  testPod({
    name: 'web',
    uid: 'mirror',
    deleted,
    annotations: { [CONFIG_SOURCE_ANNOTATION]: 'api', [CONFIG_MIRROR_ANNOTATION]: hash },
  });

const node = { metadata: { name: 'node-1', uid: 'node-uid' } };

const leaving = { metadata: { ...node.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' } };

test('a static pod without a mirror pod gets one, once the node is known', () => {
  expect(planMirrorPod({ pod: plannedPod, node })).toEqual({ create: true });
  expect(planMirrorPod({ pod: plannedPod })).toEqual({ create: false });
});

test('a mirror pod of this version stays', () => {
  expect(planMirrorPod({ pod: plannedPod, mirrorPod: mirrorOf('static'), node })).toEqual({
    create: false,
  });
});

test('a mirror pod of another version, and one that is being deleted, is deleted and made anew', () => {
  for (const mirrorPod of [mirrorOf('earlier'), mirrorOf('static', true)])
    expect(planMirrorPod({ pod: plannedPod, mirrorPod, node })).toEqual({
      delete: mirrorPod,
      create: true,
    });
});

test('a mirror pod of the same UID, and of another version of the manifest, is made anew', () => {
  const ofVersion = (version: string, one: Pod): Pod => {
    const annotations = { ...one.metadata.annotations, [MANIFEST_HASH_ANNOTATION]: version };
    return { ...one, metadata: { ...one.metadata, annotations } };
  };
  const second = ofVersion('2', plannedPod);
  const staysOf = (mirrorPod: Pod) => planMirrorPod({ pod: second, mirrorPod, node });
  expect(staysOf(ofVersion('2', mirrorOf('static')))).toEqual({ create: false });
  // Also one of the kubelet, which may show any version.
  for (const mirrorPod of [ofVersion('1', mirrorOf('static')), mirrorOf('static')])
    expect(staysOf(mirrorPod)).toEqual({ delete: mirrorPod, create: true });
});

test('while the node is being deleted no mirror pod is made, but a stale one still goes', () => {
  const stale = mirrorOf('earlier');
  expect(planMirrorPod({ pod: plannedPod, node: leaving })).toEqual({ create: false });
  expect(planMirrorPod({ pod: plannedPod, mirrorPod: stale, node: leaving })).toEqual({
    delete: stale,
    create: false,
  });
});

test('a pod of the API has no mirror pod', () => {
  const ordinary = testPod({ name: 'web', annotations: { [CONFIG_SOURCE_ANNOTATION]: 'api' } });
  expect(planMirrorPod({ pod: ordinary, node })).toEqual({ create: false });
});
