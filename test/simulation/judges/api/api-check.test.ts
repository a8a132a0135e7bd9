import { expect, test } from '@jest/globals';
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
} from '../../../../src/agent/policies/pod/pod-kinds.ts';
import { type ApiCheckFacts, findUntold } from '../../../../src/simulation/judges/api/api-check.ts';
import type { Node, Pod, PodStatus } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';

const READY: Node = {
  metadata: { name: 'node-1' },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};
const STATIC = testPod({ name: 'etcd', uid: 'static-1' });

const mirror = (hash = 'static-1', deleted = false): Pod =>
  testPod({
    name: 'etcd',
    uid: 'mirror-1',
    deleted,
    annotations: { [CONFIG_MIRROR_ANNOTATION]: hash, [CONFIG_HASH_ANNOTATION]: hash },
  });

const facts = (more: Partial<ApiCheckFacts> = {}): ApiCheckFacts => ({
  pods: [
    { ...testPod(), status: { phase: 'Running' } },
    { ...mirror(), status: { phase: 'Running' } },
  ],
  node: READY,
  staticPods: [STATIC],
  statusOf: () => ({ phase: 'Running' }),
  hasEnded: () => false,
  isStarted: () => true,
  hasStarted: () => true,
  isDeletedByHand: () => false,
  leaseOverdueMs: 0,
  ...more,
});
const containerStatuses = (restartCount: number) => [
  { name: 'main', image: 'x', imageID: '', ready: true, restartCount },
];
const only = (pod: Pod, status: PodStatus) => ({ pods: [{ ...pod, status }], staticPods: [] });

test('a static pod that a person has deleted has no mirror pod in the end', () => {
  const found = findUntold(facts({ isDeletedByHand: (uid) => uid === 'static-1' }));
  expect(found?.what).toBe('has a mirror pod, and was deleted by hand');
});

test('the server may keep an end of a container that the static pod has forgotten', () => {
  const ended = { terminated: { exitCode: 1 } };
  const told: PodStatus = {
    phase: 'Running',
    containerStatuses: containerStatuses(2).map((one) => ({ ...one, state: ended })),
  };
  const known: PodStatus = { phase: 'Running', containerStatuses: containerStatuses(0) };
  const foundFor = (restartPolicy: 'Never' | 'Always') => {
    const pod = mirror();
    const pods = [{ ...pod, spec: { ...pod.spec, restartPolicy }, status: told }];
    return findUntold(facts({ pods, statusOf: () => known }))?.what;
  };
  expect(foundFor('Never')).toBeUndefined();
  expect(foundFor('Always')).toBe('is main 0 here and main 2 at the API server');
});

test.each<[boolean, string | undefined]>([
  [false, undefined],
  [true, 'is Failed Preempting here and Failed Evicted at the API server'],
])(
  'a mirror pod shows the former end of a static pod that has ended, unless it had started: %s',
  (started, what) => {
    const pods = [{ ...mirror(), status: { phase: 'Failed', reason: 'Evicted' } }];
    const own = { hasEnded: () => true, isStarted: () => false, hasStarted: () => started };
    const found = findUntold(
      facts({ ...own, pods, statusOf: () => ({ phase: 'Failed', reason: 'Preempting' }) }),
    );
    expect(found?.what).toBe(what);
  },
);

test('everything is written', () => {
  expect(findUntold(facts())).toBeUndefined();
});

test.each<[string, Partial<ApiCheckFacts>, string]>([
  ['no node', { node: undefined }, 'the node is there as Ready unknown'],
  ['a lease that ran out', { leaseOverdueMs: 1 }, 'the lease has run out'],
  ['no mirror pod', { pods: [] }, 'has no mirror pod'],
  ['a mirror pod too many', { pods: [mirror()], staticPods: [] }, 'has a mirror pod, and is not wanted'],
  [
    'a mirror pod of another version',
    { pods: [mirror('static-2')] },
    'has the mirror pod of another version',
  ],
  ['a deleted mirror pod', { pods: [mirror('static-1', true)] }, 'its mirror pod is being deleted'],
  [
    'a pod that is left',
    { ...only(testPod({ deleted: true }), { phase: 'Failed' }), hasEnded: () => true },
    'has ended, and its object is left',
  ],
  [
    'an end that is not told',
    { ...only(testPod(), { phase: 'Running' }), hasEnded: () => true },
    'has ended, and is there in phase Running',
  ],
  ['another phase', only(testPod(), { phase: 'Pending' }), 'is Running here and Pending at the API server'],
  [
    'another reason',
    { ...only(testPod(), { phase: 'Failed' }), statusOf: () => ({ phase: 'Failed', reason: 'Evicted' }) },
    'is Failed Evicted here and Failed at the API server',
  ],
  [
    'fewer restarts',
    {
      ...only(testPod(), { phase: 'Running', containerStatuses: containerStatuses(1) }),
      statusOf: () => ({ phase: 'Running', containerStatuses: containerStatuses(2) }),
    },
    'is main 2 here and main 1 at the API server',
  ],
  [
    'another readiness',
    {
      ...only(testPod(), { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }),
      statusOf: () => ({ phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] }),
    },
    'is ready False here and ready True at the API server',
  ],
])('%s', (_, more, what) => {
  expect(findUntold(facts(more))?.what).toBe(what);
});
