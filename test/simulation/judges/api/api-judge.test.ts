/** The judge at a simulated server: every request of a node is judged when it is carried out. */
import { describe, expect, test } from '@jest/globals';
import {
  CONFIG_HASH_ANNOTATION,
  CONFIG_MIRROR_ANNOTATION,
} from '../../../../src/agent/policies/pod/pod-kinds.ts';
import { NO_API_FAULTS } from '../../../../src/simulation/api/api-faults.ts';
import type { ApiWitness } from '../../../../src/simulation/api/api-witness.ts';
import { ApiJudge, LeaseJudge, MirrorPodJudge } from '../../../../src/simulation/judges/api/api-judge.ts';
import type { Lease, Pod } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { ApiBed, apiPod, NODE, nodeObject, podAt, pods, refusalOf, statusOf } from '../../api/api-bed.ts';

function judged() {
  const reported: string[] = [];
  const witness: { judge?: ApiJudge } = {};
  const madeAgain = new Set<string>();
  const wanted: { uid: string | undefined } = { uid: 'static-1' };
  const bed = new ApiBed(() => 0.5, {
    requestBegan: (request) => witness.judge?.requestBegan(request),
    requestLands: (request) => witness.judge?.requestLands(request),
    requestEnded: (request, answer) => witness.judge?.requestEnded(request, answer),
  } satisfies ApiWitness);
  const judge = new ApiJudge({
    node: 1,
    now: () => bed.clock.now(),
    truth: {
      runtime: () => ({ sandboxesOf: () => [], inFlight: () => [], isRunning: () => false }),
      isMounted: () => false,
      mayRunUnknown: () => false,
      isForeign: () => false,
      wasMadeAgain: (uid) => madeAgain.has(uid),
      wasChosen: () => false,
    },
    podAt: (name) => bed.server.store.get('pods', podAt(name)) as unknown as Pod | undefined,
    staticNameOf: () => undefined,
    wantedUID: () => wanted.uid,
    isEnding: () => wanted.uid === undefined,
    wasWantedAgain: (uid) => madeAgain.has(uid),
    wasDeletedByHand: () => false,
    onViolation: ({ invariant, uid, name = '', what }) =>
      reported.push(`${invariant} ${uid ?? name}: ${what}`),
  });
  witness.judge = judge;
  bed.server.store.changes.subscribe((change) => judge.changed(change));
  const patch = (status: object) => bed.settle(refusalOf(bed.node.patch(statusOf('web'), { status })));
  return { bed, judge, reported, patch, madeAgain, wanted };
}

test('a status that says nothing new is not written', async () => {
  const { bed, reported, patch } = judged();
  bed.server.operations.create(pods, apiPod('web'));
  await patch({ phase: 'Running' });
  expect(reported).toEqual([]);
  await patch({ phase: 'Running' });
  expect(reported).toEqual([
    'status web: /api/v1/namespaces/default/pods/web/status is written, although nothing in it is new',
  ]);
});

test('after a lost answer it may be written once more', async () => {
  const { bed, reported, patch } = judged();
  bed.server.operations.create(pods, apiPod('web'));
  bed.faults = { ...NO_API_FAULTS, lostAnswer: 1 };
  await expect(patch({ phase: 'Running' })).rejects.toThrow();
  bed.faults = NO_API_FAULTS;
  await patch({ phase: 'Running' });
  expect(reported).toEqual([]);
  await patch({ phase: 'Running' });
  expect(reported).toHaveLength(1);
});

test('after the pod was made again with its UID, an earlier version of it may be written once', async () => {
  const { bed, reported, patch, madeAgain } = judged();
  const { operations } = bed.server;
  operations.create(pods, apiPod('web'), 'uid-1');
  await patch({ phase: 'Running', podIP: '10.0.0.1' });
  operations.delete(podAt('web'), { gracePeriodSeconds: 0 });
  madeAgain.add('uid-1');
  operations.create(pods, apiPod('web'), 'uid-1');
  await patch({ podIP: null });
  expect(reported).toEqual([]);
  await patch({ podIP: null });
  expect(reported).toHaveLength(1);
});

test('a status that goes back is reported, unless a user wrote it', async () => {
  const { bed, reported, patch } = judged();
  bed.server.operations.create(pods, apiPod('web'), 'uid-1');
  await patch({ phase: 'Failed' });
  bed.server.operations.patch(statusOf('web'), { status: { phase: 'Running' } });
  await patch({ phase: 'Succeeded' });
  expect(reported).toEqual([]);
  await patch({ phase: 'Running' });
  expect(reported).toEqual(['status uid-1: the status goes back: phase from Succeeded to Running']);
});

test('a status may go back once after a late request of a former agent', async () => {
  const { bed, reported, patch } = judged();
  const next = bed.server.connect();
  const patchByNext = (status: object) => bed.settle(refusalOf(next.patch(statusOf('web'), { status })));
  bed.server.operations.create(pods, apiPod('web'), 'uid-1');
  await patchByNext({ phase: 'Running' });
  await patch({ phase: 'Failed' });
  await patchByNext({ phase: 'Running' });
  expect(reported).toEqual([]);
  await patchByNext({ phase: 'Failed' });
  await patchByNext({ phase: 'Running' });
  expect(reported).toEqual(['status uid-1: the status goes back: phase from Failed to Running']);
});

test('a pod that is deleted by its node too early is reported', async () => {
  const { bed, reported } = judged();
  bed.server.operations.create(pods, apiPod('web'), 'uid-1');
  bed.server.operations.delete(podAt('web'), { gracePeriodSeconds: 30 });
  await bed.settle(bed.node.delete(podAt('web'), { gracePeriodSeconds: 0 }));
  expect(reported).toEqual(['pod object uid-1: is deleted in phase Pending']);
});

test('a deletion that the node knows of may reach the pod that was made again with its UID, and no other', async () => {
  const { bed, reported, patch, madeAgain } = judged();
  const { operations } = bed.server;
  const deletion = () => bed.settle(bed.node.delete(podAt('web'), { gracePeriodSeconds: 0, uid: 'uid-1' }));
  operations.create(pods, apiPod('web'), 'uid-1');
  const makeAgain = () => {
    operations.delete(podAt('web'), { gracePeriodSeconds: 0 });
    madeAgain.add('uid-1');
    operations.create(pods, apiPod('web'), 'uid-1');
  };
  operations.delete(podAt('web'), { gracePeriodSeconds: 5 });
  await patch({ phase: 'Succeeded' });
  makeAgain();
  await deletion();
  expect(reported).toEqual([]);
  operations.create(pods, apiPod('web'), 'uid-1');
  await patch({ phase: 'Succeeded' });
  makeAgain();
  await deletion();
  expect(reported).toContain('pod object uid-1: its node deletes it, although nobody asked for that');
});

test('a pod that a user deletes is not judged', () => {
  const { bed, reported } = judged();
  bed.server.operations.create(pods, apiPod('web'));
  bed.server.operations.delete(podAt('web'), { gracePeriodSeconds: 0 });
  expect(reported).toEqual([]);
});

test('mirror pods are judged when they are made and deleted', async () => {
  const { bed, reported } = judged();
  const node = bed.server.operations.create({ resource: 'nodes' }, nodeObject());
  const ownerReferences = [
    { apiVersion: 'v1', kind: 'Node', name: NODE, uid: node.metadata.uid, controller: true },
  ];
  const annotations = { [CONFIG_MIRROR_ANNOTATION]: 'static-1', [CONFIG_HASH_ANNOTATION]: 'static-1' };
  await bed.settle(bed.node.create<Pod>(pods, apiPod('web', {}, { annotations, ownerReferences })));
  await bed.settle(bed.node.delete(podAt('web'), { gracePeriodSeconds: 0 }));
  expect(reported).toEqual([
    'mirror pods static-1: the mirror pod web is made of no static pod of that name',
    'mirror pods static-1: the mirror pod web is deleted, although it is right',
  ]);
});

test('the lease is renewed by writes that are answered, and a failure excuses a delay', async () => {
  const { bed, reported } = judged();
  const collection = { resource: 'leases', namespace: 'kube-node-lease' } as const;
  const target = { ...collection, name: NODE };
  const renew = async (seconds: number) => {
    await bed.clock.advance(seconds * 1000);
    const renewTime = `2030-01-01T00:00:00.${String(bed.clock.now() % 1_000_000).padStart(6, '0')}Z`;
    await refusalOf(
      bed.settle(bed.node.update<Lease>(target, { metadata: { name: NODE }, spec: { renewTime } })),
    ).catch(() => '');
  };
  await bed.settle(bed.node.create<Lease>(collection, { metadata: { name: NODE } }));
  await renew(39);
  bed.faults = { ...NO_API_FAULTS, fail: 1 };
  await renew(39);
  bed.faults = NO_API_FAULTS;
  await renew(39);
  expect(reported).toEqual([]);
  await renew(50);
  expect(reported).toEqual([expect.stringMatching(/^lease : the lease is renewed 10.* s too late/)]);
});

test.each([
  ['is lawful if the static pod was wanted again when it was asked for', ['static-1'], []],
  [
    'is not, if the mirror pod was right',
    [],
    ['mirror pods static-1: the mirror pod web is deleted before its static pod has ended'],
  ],
])('the removal of a mirror pod while its static pod ends %s', async (_, again, violations) => {
  const { bed, reported, madeAgain, wanted } = judged();
  again.forEach((uid) => madeAgain.add(uid));
  const annotations = { [CONFIG_MIRROR_ANNOTATION]: 'static-1', [CONFIG_HASH_ANNOTATION]: 'static-1' };
  bed.server.operations.create(pods, apiPod('web', {}, { annotations }));
  const deletion = bed.node.delete(podAt('web'), { gracePeriodSeconds: 0 });
  wanted.uid = undefined;
  await bed.settle(deletion);
  expect(reported).toEqual(violations);
});

function bed() {
  const time = { now: 1_000_000 };
  const reported: string[] = [];
  const judge = new LeaseJudge({ now: () => time.now, violated: (what) => reported.push(what) });
  const after = (seconds: number) => {
    time.now += seconds * 1000;
    return judge;
  };
  return { judge, reported, after };
}

test('a lease is renewed within 40 s', () => {
  const { judge, reported, after } = bed();
  judge.renewed();
  after(40).renewed();
  expect(reported).toEqual([]);
  after(45).renewed();
  expect(reported).toEqual(['the lease is renewed 5 s too late']);
});

test('a failed request gives it the same time again', () => {
  const { judge, reported, after } = bed();
  judge.renewed();
  after(39).delayed();
  after(40).renewed();
  expect(reported).toEqual([]);
});

test('before the first renewal of an agent, nothing is due', () => {
  const { judge, reported, after } = bed();
  after(100).delayed();
  expect(after(100).overdueMs).toBe(0);
  judge.renewed();
  expect(after(50).overdueMs).toBe(10_000);
  judge.abandoned();
  after(100).renewed();
  expect(reported).toEqual([]);
});

interface MirrorPodFacts {
  readonly wanted?: string;
  readonly isEnding?: boolean;
  readonly wasWantedAgain?: boolean;
}

function mirrorPodBed({ wanted, isEnding = false, wasWantedAgain = false }: MirrorPodFacts = {}) {
  const reported: string[] = [];
  const judge = new MirrorPodJudge({
    staticNameOf: (uid) => (uid === 'static-1' || uid === 'static-2' ? 'web' : undefined),
    wantedUID: () => wanted,
    isEnding: () => isEnding,
    wasWantedAgain: () => wasWantedAgain,
    wasDeletedByHand: () => false,
    violated: ({ uid }, what) => reported.push(`${uid}: ${what}`),
  });
  return { judge, reported };
}

const mirror = (hash: string, { mirrored = hash, name = 'web', deleted = false } = {}) =>
  testPod({
    name,
    uid: 'mirror-1',
    deleted,
    annotations: { [CONFIG_MIRROR_ANNOTATION]: mirrored, [CONFIG_HASH_ANNOTATION]: hash },
  });

describe('a mirror pod is made', () => {
  test('of a static pod of its name', () => {
    const { judge, reported } = mirrorPodBed();
    judge.made(mirror('static-1'));
    expect(reported).toEqual([]);
  });

  test.each([
    [
      'another name',
      mirror('static-1', { name: 'other' }),
      'static-1: the mirror pod other is made of no static pod of that name',
    ],
    ['no static pod', mirror('unknown'), 'unknown: the mirror pod web is made of no static pod of that name'],
    [
      'two hashes',
      mirror('static-1', { mirrored: 'static-2' }),
      'static-1: the mirror pod web is one of static-2',
    ],
  ])('not with %s', (_, pod, what) => {
    const { judge, reported } = mirrorPodBed();
    judge.made(pod);
    expect(reported).toEqual([what]);
  });
});

describe('a mirror pod is deleted', () => {
  test('not as long as it is right', () => {
    const { judge, reported } = mirrorPodBed({ wanted: 'static-1' });
    judge.removed(mirror('static-1'));
    expect(reported).toEqual(['static-1: the mirror pod web is deleted, although it is right']);
  });

  test('not before its static pod has ended', () => {
    const { judge, reported } = mirrorPodBed({ isEnding: true });
    judge.removed(mirror('static-1'));
    expect(reported).toEqual(['static-1: the mirror pod web is deleted before its static pod has ended']);
  });

  test.each([
    ['a user has deleted it', { wanted: 'static-1' }, mirror('static-1', { deleted: true })],
    ['another static pod is wanted', { wanted: 'static-2', isEnding: true }, mirror('static-1')],
    ['its static pod has ended', {}, mirror('static-1')],
    ['it may be of a former life', { isEnding: true, wasWantedAgain: true }, mirror('static-1')],
  ])('when %s', (_, facts, pod) => {
    const { judge, reported } = mirrorPodBed(facts);
    judge.removed(pod);
    expect(reported).toEqual([]);
  });
});
