import { describe, expect, test } from '@jest/globals';
import {
  type KnownPod,
  planHousekeeping,
  type PodSource,
  podUpdates,
} from '../../../../src/agent/policies/pod-actions/wanted-pods.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { RuntimePodStatus } from '../../../../src/types/runtime-pod.ts';
import { type PartialPodStatus, runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { testVectors } from '../../../support/test-vectors.ts';

const SEEN = 'kubernetes.io/config.seen';

function pod(uid: string, { metadata = {}, spec = {}, status = {} } = {}): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: uid, namespace: 'default', uid, ...metadata },
    spec: { containers: [], ...spec },
    status,
  };
}

/** Applies the lists one after another. Returns the updates of the last one, as `OP uid`. */
function after(lists: readonly (readonly Pod[])[], source: PodSource = 'api') {
  let result = podUpdates(new Map(), source, [], 'never');
  lists.forEach((pods, index) => (result = podUpdates(result.known, source, pods, `time ${index}`)));
  const texts = result.updates.map(
    ({ op, pods }) => `${op} ${pods.map(({ metadata }) => metadata.uid).join(' ')}`,
  );
  return { ...result, texts };
}

testVectors('podConfig');

describe('podUpdates', () => {
  test('new pods are added, in the order of the list, and stamped with source and time', () => {
    const { updates, texts } = after(
      [[pod('b'), pod('a', { metadata: { annotations: { mine: 'x' } } })]],
      'file',
    );
    expect(texts).toEqual(['ADD b a']);
    expect(updates[0]?.source).toBe('file');
    expect(updates[0]?.pods[1]?.metadata.annotations).toEqual({
      mine: 'x',
      'kubernetes.io/config.source': 'file',
      [SEEN]: 'time 0',
    });
  });

  test('a pod cannot name its own source', () => {
    const liar = pod('a', { metadata: { annotations: { 'kubernetes.io/config.source': 'file' } } });
    expect(after([[liar]]).updates[0]?.pods[0]?.metadata.annotations).toMatchObject({
      'kubernetes.io/config.source': 'api',
    });
  });

  test('a pod that is no longer listed is removed, in its last known version', () => {
    const { updates, known } = after([[pod('a'), pod('b')], [pod('b')]]);
    expect(updates).toMatchObject([{ op: 'REMOVE', pods: [{ metadata: { uid: 'a' } }] }]);
    expect([...known.keys()]).toEqual(['b']);
  });

  test('the order is REMOVE, ADD, UPDATE, DELETE, RECONCILE', () => {
    const before = ['gone', 'updated', 'deleted', 'reconciled'].map((uid) => pod(uid));
    const now = [
      pod('reconciled', { status: { phase: 'Failed' } }),
      pod('deleted', { metadata: { deletionTimestamp: '2026-01-31T08:00:00Z' } }),
      pod('updated', { spec: { activeDeadlineSeconds: 5 } }),
      pod('new'),
    ];
    expect(after([before, now]).texts).toEqual([
      'REMOVE gone',
      'ADD new',
      'UPDATE updated',
      'DELETE deleted',
      'RECONCILE reconciled',
    ]);
  });

  test.each([
    ['spec', { spec: { activeDeadlineSeconds: 5 } }, 'UPDATE'],
    ['labels', { metadata: { labels: { a: 'b' } } }, 'UPDATE'],
    ['annotations', { metadata: { annotations: { a: 'b' } } }, 'UPDATE'],
    ['deletionTimestamp', { metadata: { deletionTimestamp: 'now' } }, 'DELETE'],
    ['the time first seen', { metadata: { annotations: { [SEEN]: 'some other time' } } }, undefined],
    ['resourceVersion', { metadata: { resourceVersion: '7' } }, undefined],
    ['empty labels', { metadata: { labels: {}, annotations: {} } }, undefined],
    ['status', { status: { phase: 'Running' } }, 'RECONCILE'],
  ])('a change of %s', (_what, change, op) => {
    expect(after([[pod('a')], [pod('a', change)]]).texts).toEqual(op === undefined ? [] : [`${op} a`]);
  });

  test('a shorter grace period of a pod that is being deleted is another DELETE', () => {
    const deleted = (deletionGracePeriodSeconds: number) =>
      pod('a', { metadata: { deletionTimestamp: 'now', deletionGracePeriodSeconds } });
    expect(after([[pod('a')], [deleted(30)], [deleted(1)]]).texts).toEqual(['DELETE a']);
    expect(after([[pod('a')], [deleted(30)], [deleted(30)]]).texts).toEqual([]);
  });

  test('the same list again changes nothing, and a pod keeps its first-seen time', () => {
    const { known, texts } = after([
      [pod('a')],
      [pod('a')],
      [pod('a', { metadata: { labels: { a: 'b' } } })],
      [pod('a', { metadata: { labels: { a: 'b' } } })],
    ]);
    expect(texts).toEqual([]);
    expect(known.get('a')?.pod.metadata.annotations?.[SEEN]).toBe('time 0');
  });

  test('of a pod with a new status, nothing but the status is taken over', () => {
    const { updates } = after([
      [pod('a')],
      [pod('a', { metadata: { resourceVersion: '7' }, status: { phase: 'Failed' } })],
    ]);
    expect(updates[0]?.pods[0]).toMatchObject({ status: { phase: 'Failed' }, metadata: { uid: 'a' } });
    expect(updates[0]?.pods[0]?.metadata.resourceVersion).toBeUndefined();
  });

  test('lifecycle 10: a changed static pod has a new UID: the old one is removed, then the new one added', () => {
    const named = (uid: string) => pod(uid, { metadata: { name: 'web' } });
    expect(after([[named('old')], [named('new')]], 'file').texts).toEqual(['REMOVE old', 'ADD new']);
  });

  test('of two pods with the same full name the first in the list counts', () => {
    const twin = pod('b', { metadata: { name: 'a' } });
    const elsewhere = pod('d', { metadata: { name: 'a', namespace: 'other' } });
    const { texts, duplicates } = after([[pod('a'), twin, elsewhere]]);
    expect(texts).toEqual(['ADD a d']);
    expect(duplicates).toEqual([twin]);
  });

  test('an update takes over labels, annotations, deletion, generation, spec and status, and nothing else', () => {
    const first = {
      resourceVersion: '1',
      labels: { a: 'b' },
      ownerReferences: [{ name: 'x' }],
      generation: 1,
    };
    const second = { resourceVersion: '2', annotations: { c: 'd' }, finalizers: ['a/b'], generation: 2 };
    const { updates } = after([
      [pod('a', { metadata: first })],
      [pod('a', { metadata: second, spec: { activeDeadlineSeconds: 5 }, status: { phase: 'Running' } })],
    ]);
    expect(updates[0]?.pods[0]).toMatchObject({
      metadata: { resourceVersion: '1', ownerReferences: [{ name: 'x' }], generation: 2 },
      spec: { activeDeadlineSeconds: 5 },
      status: { phase: 'Running' },
    });
    expect(updates[0]?.pods[0]?.metadata).not.toHaveProperty('labels');
    expect(updates[0]?.pods[0]?.metadata).not.toHaveProperty('finalizers');
  });

  test('an update keeps the annotation that made it a mirror pod: it stays the mirror of that static pod', () => {
    const mirror = (hash: string, more = {}) =>
      pod('a', { metadata: { annotations: { 'kubernetes.io/config.mirror': hash, ...more } } });
    const { updates } = after([[mirror('one')], [mirror('two', { other: 'x' })]]);
    expect(updates[0]?.pods[0]?.metadata.annotations).toMatchObject({
      'kubernetes.io/config.mirror': 'one',
      other: 'x',
    });
  });
});

const NOTHING = { retire: [], kill: [], start: [], killRuntimePods: [], removeRuntimePods: [] };

const RUNNING: PartialPodStatus = { sandboxes: [{ id: 's' }] };

const ENDED: PartialPodStatus = {
  sandboxes: [{ id: 's', ready: false }],
  containers: [{ id: 'c', name: 'main', state: 'exited' }],
};

const known = (uid: string, more: Partial<KnownPod> = {}): KnownPod => ({
  uid,
  finished: false,
  terminationRequested: false,
  restartRequested: false,
  ...more,
});

const finished = (uid: string, more: Partial<KnownPod> = {}) =>
  known(uid, { finished: true, terminationRequested: true, ...more });

const inRuntime = (uid: string, state: PartialPodStatus): RuntimePodStatus => ({
  ...runtimePodStatus(state),
  uid,
});

const plan = (desired: string[], pods: KnownPod[], runtimePods: RuntimePodStatus[] = []) =>
  planHousekeeping({ desired: new Set(desired), known: pods, runtimePods });

describe('pods that have an actor', () => {
  test('a desired pod that runs is left alone', () => {
    expect(plan(['a'], [known('a')], [inRuntime('a', RUNNING)])).toEqual(NOTHING);
  });

  test('9: a finished pod that is no longer desired is retired', () => {
    expect(plan([], [finished('a')])).toEqual({ ...NOTHING, retire: ['a'] });
  });

  test('9: a finished pod that is still desired is kept, and not started again', () => {
    expect(plan(['a'], [finished('a')])).toEqual(NOTHING);
  });

  test('9: a finished pod whose restart was requested is retired, to be started again', () => {
    const again = finished('a', { restartRequested: true });
    expect(plan(['a'], [again])).toEqual({ ...NOTHING, retire: ['a'] });
  });

  test('9: an ending pod whose restart was requested has to end first', () => {
    const again = known('a', { terminationRequested: true, restartRequested: true });
    expect(plan(['a'], [again])).toEqual(NOTHING);
  });

  test('3: a pod that is no longer desired is killed', () => {
    expect(plan([], [known('a')])).toEqual({ ...NOTHING, kill: ['a'] });
  });

  test('6: an ending pod is not killed a second time', () => {
    expect(plan([], [known('a', { terminationRequested: true })])).toEqual(NOTHING);
  });

  test('what the runtime holds of a pod with an actor is left to the actor', () => {
    const runtimePods = [inRuntime('a', ENDED), inRuntime('b', RUNNING)];
    const pods = [finished('a'), known('b', { terminationRequested: true })];
    expect(plan([], pods, runtimePods)).toEqual({ ...NOTHING, retire: ['a'] });
  });
});

describe('pods without an actor', () => {
  test('a desired pod is started', () => {
    expect(plan(['a'], [])).toEqual({ ...NOTHING, start: ['a'] });
  });

  test('I10: a desired pod that the runtime holds is started, and neither killed nor removed', () => {
    const runtimePods = [inRuntime('a', RUNNING), inRuntime('b', ENDED)];
    expect(plan(['a', 'b'], [], runtimePods)).toEqual({ ...NOTHING, start: ['a', 'b'] });
  });

  test('3: a pod that only the runtime knows is killed while a part of it runs', () => {
    const orphan = inRuntime('a', RUNNING);
    expect(plan([], [], [orphan])).toEqual({ ...NOTHING, killRuntimePods: [orphan] });
  });

  test('a pod that only the runtime knows is removed once it has ended', () => {
    const orphan = inRuntime('a', ENDED);
    expect(plan([], [], [orphan])).toEqual({ ...NOTHING, removeRuntimePods: [orphan] });
  });

  test('I10: a pod with a container in an unknown state counts as running', () => {
    const orphan = inRuntime('a', { containers: [{ id: 'c', name: 'main', state: 'unknown' }] });
    expect(plan([], [], [orphan]).killRuntimePods).toEqual([orphan]);
  });
});
