import { expect, test } from '@jest/globals';
import { nodeEventObject, podEventObject } from '../../../src/policies/events/event-object.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';

const POD = { name: 'web', namespace: 'shop', uid: 'u-1' };
const KNOWN: Pod = {
  metadata: { ...POD, resourceVersion: '42' },
  spec: {
    containers: [{ name: 'app' }],
    initContainers: [{ name: 'setup' }],
    ephemeralContainers: [{ name: 'debugger' }],
  },
};

test('an event about a pod has its UID, and no field path', () => {
  const object = { apiVersion: 'v1', kind: 'Pod', ...POD };
  expect(podEventObject({ ...POD, labels: {} } as typeof POD)).toEqual(object);
});

test('if the pod is known, the event has its version', () => {
  expect(podEventObject(POD, undefined, KNOWN)).toMatchObject({ uid: 'u-1', resourceVersion: '42' });
});

test.each([
  ['app', 'spec.containers{app}'],
  ['setup', 'spec.initContainers{setup}'],
  ['debugger', 'spec.ephemeralContainers{debugger}'],
  ['unknown', 'spec.containers{unknown}'],
])('an event about container %s has the field path %s', (container, fieldPath) => {
  expect(podEventObject(POD, container, KNOWN)).toMatchObject({ fieldPath });
});

test('if the spec of the pod is not known any more, a container counts as a regular one', () => {
  expect(podEventObject(POD, 'setup')).toMatchObject({ fieldPath: 'spec.containers{setup}' });
});

test('an event about the node has its UID, and its name as long as the UID is not known', () => {
  expect(nodeEventObject('node-1', 'u-9')).toEqual({
    apiVersion: 'v1',
    kind: 'Node',
    name: 'node-1',
    uid: 'u-9',
  });
  expect(nodeEventObject('node-1', undefined)).toMatchObject({ uid: 'node-1' });
});
