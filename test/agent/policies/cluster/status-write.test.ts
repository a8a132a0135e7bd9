import { describe, expect, test } from '@jest/globals';
import type { VersionedStatus } from '../../../../src/agent/policies/cluster/status-versions.ts';
import {
  canBeDeleted,
  outdatedVersions,
  podsToWrite,
  writeBackOffMs,
  writeStatus,
} from '../../../../src/agent/policies/cluster/status-write.ts';
import type { Pod, PodStatus } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { podManager } from '../../../support/status-story.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('podStatusSync');

const MIRROR = { 'kubernetes.io/config.mirror': 'hash', 'kubernetes.io/config.source': 'api' };
const STATIC = { 'kubernetes.io/config.source': 'file' };
const RUNNING: PodStatus = { phase: 'Running' };
const pod: Pod = { ...testPod(), status: { phase: 'Pending' } };
const { uid } = pod.metadata;

const entryOf = (of: Pod, more: Partial<VersionedStatus> = {}): VersionedStatus => ({
  pod: of,
  status: RUNNING,
  version: 1,
  podIsFinished: false,
  ...more,
});

describe('which statuses are written', () => {
  const due = (of: Pod, entry: VersionedStatus, written: [string, number][], all: boolean, mirror?: Pod) =>
    podsToWrite({
      entries: [[of.metadata.uid, entry]],
      written: new Map(written),
      pods: podManager(of, mirror),
      all,
    }).map(({ apiUID }) => apiUID);

  test('after a change: those that are newer than the server has them', () => {
    expect(due(pod, entryOf(pod), [], false)).toEqual([uid]);
    expect(due(pod, entryOf(pod), [[uid, 1]], false)).toEqual([]);
    expect(due(pod, entryOf(pod, { version: 2 }), [[uid, 1]], false)).toEqual([uid]);
  });

  test('from time to time: also those that the server shows differently', () => {
    expect(due(pod, entryOf(pod), [[uid, 1]], true)).toEqual([uid]);
    expect(due({ ...pod, status: RUNNING }, entryOf(pod), [[uid, 1]], true)).toEqual([]);
  });

  test('from time to time: also those of pods that can be deleted', () => {
    const over: PodStatus = { phase: 'Failed' };
    const leaving: Pod = { ...testPod({ deleted: true }), status: over };
    const entry = entryOf(leaving, { status: over, podIsFinished: true });
    expect(due(leaving, entry, [[uid, 1]], true)).toEqual([uid]);
    expect(due(leaving, { ...entry, podIsFinished: false }, [[uid, 1]], true)).toEqual([]);
  });

  test('those of static pods to their mirror pods, and not without', () => {
    const fixed = testPod({ annotations: STATIC });
    const mirror = testPod({ uid: 'mirror', annotations: MIRROR });
    expect(due(fixed, entryOf(fixed), [], true)).toEqual([]);
    expect(due(fixed, entryOf(fixed), [[uid, 1]], false, mirror)).toEqual(['mirror']);
  });

  test('of a static pod that its source has forgotten go on to its mirror pod, as long as there is one', () => {
    const fixed = testPod({ annotations: STATIC });
    const mirror = testPod({ uid: 'mirror', annotations: MIRROR });
    const round = { entries: [[uid, entryOf(fixed)] as const], written: new Map(), all: false };
    const apiUIDs = (mirrorPod: Pod | undefined) =>
      podsToWrite({ ...round, pods: podManager(undefined, mirrorPod) }).map(({ apiUID }) => apiUID);
    expect(apiUIDs(mirror)).toEqual(['mirror']);
    expect(apiUIDs(undefined)).toEqual([uid]);
  });

  test('versions of pods that are gone are forgotten, those of mirror pods stay', () => {
    const pods = podManager(
      testPod({ annotations: STATIC }),
      testPod({ uid: 'mirror', annotations: MIRROR }),
    );
    const written = new Map([uid, 'mirror', 'gone'].map((known) => [known, 1]));
    expect(outdatedVersions({ written, pods, known: (known) => known === uid })).toEqual(['gone']);
  });
});

describe('one write', () => {
  function begin(entry: VersionedStatus, couldRun = false) {
    const written: string[] = [];
    const conversation = writeStatus({
      uid,
      entry,
      pods: podManager(pod, undefined),
      couldHaveRunningContainers: () => couldRun,
      now: () => '2030-01-01T00:00:00Z',
      onWritten: (apiUID) => written.push(apiUID),
    });
    expect(conversation.next().value).toEqual({ verb: 'get' });
    return { conversation, written };
  }

  test('patches what differs, with the UID', () => {
    const { conversation, written } = begin(entryOf(pod));
    const patch = { metadata: { uid }, status: { phase: 'Running' } };
    expect(conversation.next(pod).value).toEqual({ verb: 'patch', patch });
    expect(written).toEqual([]);
    expect(conversation.next({ ...pod, status: RUNNING })).toEqual({ done: true, value: 'written' });
    expect(written).toEqual([uid]);
  });

  test('of what the server has already is done without a patch', () => {
    const { conversation, written } = begin(entryOf(pod));
    expect(conversation.next({ ...pod, status: RUNNING })).toEqual({ done: true, value: 'written' });
    expect(written).toEqual([uid]);
  });

  test('ends where the pod is gone, or another has its name', () => {
    expect(begin(entryOf(pod)).conversation.next(undefined).value).toBe('absent');
    const other = begin(entryOf(pod));
    expect(other.conversation.next(testPod({ uid: 'other' })).value).toBe('replaced');
    expect(other.written).toEqual([]);
  });

  test('lets the server forget a finished pod as the patch left it', () => {
    const over: PodStatus = { phase: 'Failed' };
    const leaving: Pod = { ...testPod({ deleted: true }), status: { phase: 'Running' } };
    const { conversation, written } = begin(entryOf(leaving, { status: over, podIsFinished: true }));
    expect(conversation.next(leaving).value).toMatchObject({ verb: 'patch' });
    expect(conversation.next({ ...leaving, status: over }).value).toEqual({ verb: 'delete', uid });
    expect(written).toEqual([uid]);
    expect(conversation.next(undefined)).toEqual({ done: true, value: 'deleted' });
  });

  test('does not delete a pod whose end is delayed', () => {
    const over: PodStatus = { phase: 'Failed' };
    const leaving: Pod = { ...testPod({ deleted: true }), status: { phase: 'Running' } };
    const { conversation } = begin(entryOf(leaving, { status: over, podIsFinished: true }), true);
    expect(conversation.next(leaving)).toEqual({ done: true, value: 'written' });
  });
});

test('a mirror pod is never deleted as other pods are', () => {
  const over = { status: { phase: 'Failed' } };
  expect(canBeDeleted({ ...testPod({ deleted: true }), ...over }, true)).toBe(true);
  expect(canBeDeleted({ ...testPod({ deleted: true, annotations: MIRROR }), ...over }, true)).toBe(false);
});

test('it doubles from 1 s to 10 s, and is at least what the server asks for', () => {
  expect([1, 2, 3, 4, 5, 100].map((failures) => writeBackOffMs(failures))).toEqual([
    1_000, 2_000, 4_000, 8_000, 10_000, 10_000,
  ]);
  expect(writeBackOffMs(1, 60_000)).toBe(60_000);
});
