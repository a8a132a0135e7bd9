import { expect, test } from '@jest/globals';
import { servedPodStatus } from '../../../src/policies/status-sync/served-pod-status.ts';
import type { ContainerStatus, PodStatus } from '../../../src/types/kubernetes.ts';

const container = (more: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name: 'main',
  image: '',
  imageID: '',
  ready: false,
  restartCount: 0,
  ...more,
});
const served = (more: Partial<ContainerStatus>) =>
  servedPodStatus({ containerStatuses: [container(more)] }).containerStatuses?.[0];

test('fields that are empty are left out, but those that the server always writes', () => {
  const status: PodStatus = { phase: 'Running', reason: '', containerStatuses: [container()], podIPs: [] };
  expect(servedPodStatus(status)).toEqual({
    phase: 'Running',
    containerStatuses: [{ ...container(), state: {}, lastState: {} }],
  });
});

test('a container that has not started is not one of which nothing is known', () => {
  expect(served({ started: false })?.started).toBe(false);
  expect(served({})).not.toHaveProperty('started');
});

test('times are in whole seconds, and null where there is none', () => {
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: '2030-01-01T01:00:00.75+01:00' }];
  expect(servedPodStatus({ conditions }).conditions).toEqual([
    { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2030-01-01T00:00:00Z' },
  ]);
  expect(served({ state: { running: {} } })?.state).toEqual({ running: { startedAt: null } });
});

test('quantities are canonical', () => {
  const resources = { requests: { cpu: '0.5' }, limits: { memory: '1024Ki' } };
  expect(served({ resources, allocatedResources: { cpu: '1000m' } })).toMatchObject({
    resources: { requests: { cpu: '500m' }, limits: { memory: '1Mi' } },
    allocatedResources: { cpu: '1' },
  });
});

test('the root user stays, without its empty list of groups', () => {
  expect(served({ user: { linux: { uid: 0, gid: 0, supplementalGroups: [] } } })?.user).toEqual({
    linux: { uid: 0, gid: 0 },
  });
});

test('a status that is served stays as it is', () => {
  const status: PodStatus = {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [
      container({
        state: { terminated: { exitCode: 0, finishedAt: '2030-01-01T00:00:00.5Z' } },
        volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: false }],
        resources: {},
      }),
    ],
  };
  const once = servedPodStatus(status);
  expect(servedPodStatus(once)).toEqual(once);
});
