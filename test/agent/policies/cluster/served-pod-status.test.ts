import { expect, test } from '@jest/globals';
import { equalStatuses, servedPodStatus } from '../../../../src/agent/policies/cluster/served-pod-status.ts';
import type { ContainerStatus, PodCondition, PodStatus } from '../../../../src/types/kubernetes.ts';

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

const READY: PodCondition = { type: 'Ready', status: 'True' };

const withConditions = (...conditions: PodCondition[]): PodStatus => ({ phase: 'Running', conditions });

const withMain = (more: Partial<ContainerStatus>): PodStatus => ({
  containerStatuses: [{ name: 'main', image: '', imageID: '', ready: true, restartCount: 0, ...more }],
});

test('conditions of others do not count, DisruptionTarget does', () => {
  const gate = { type: 'example.com/gate', status: 'True' };
  const disruption = { type: 'DisruptionTarget', status: 'True' };
  expect(equalStatuses(withConditions(READY), withConditions(gate, READY))).toBe(true);
  expect(equalStatuses(withConditions(READY), withConditions(disruption, READY))).toBe(false);
});

test('of a condition its status, reason and message count', () => {
  const { type } = READY;
  const other = { ...READY, lastTransitionTime: '2030-01-01T00:00:00Z', observedGeneration: 7, reason: '' };
  expect(equalStatuses(withConditions(READY), withConditions(other))).toBe(true);
  for (const changed of [
    { type, status: 'False' },
    { ...READY, reason: 'R' },
    { ...READY, message: 'M' },
  ])
    expect(equalStatuses(withConditions(READY), withConditions(changed))).toBe(false);
});

test('an amount is the same in any spelling', () => {
  const memory = (limit: string) => withMain({ resources: { limits: { memory: limit } } });
  expect(equalStatuses(memory('1Gi'), memory('1073741824'))).toBe(true);
  expect(equalStatuses(memory('1Gi'), memory('1G'))).toBe(false);
});

test('what the server adds to a status makes no difference', () => {
  const ours = withMain({ state: { running: {} } });
  const served = withMain({ state: { running: { startedAt: null as never } }, lastState: {} });
  expect(equalStatuses(ours, served)).toBe(true);
});

test('the statuses of resource claims do not count', () => {
  expect(equalStatuses({}, { resourceClaimStatuses: [{ name: 'gpu' }] })).toBe(true);
});
