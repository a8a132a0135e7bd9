import { describe, expect, test } from '@jest/globals';
import { CONFIG_HASH_ANNOTATION, CONFIG_MIRROR_ANNOTATION } from '../../../../src/policies/pod/pod-kinds.ts';
import { MirrorPodJudge } from '../../../../src/simulation/judges/api/mirror-pod-judge.ts';
import { testPod } from '../../../support/pods.ts';

function bed({ wanted, isEnding = false }: { wanted?: string; isEnding?: boolean } = {}) {
  const reported: string[] = [];
  const judge = new MirrorPodJudge({
    staticNameOf: (uid) => (uid === 'static-1' || uid === 'static-2' ? 'web' : undefined),
    wantedUID: () => wanted,
    isEnding: () => isEnding,
    wasWantedAgain: () => false,
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
    const { judge, reported } = bed();
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
    const { judge, reported } = bed();
    judge.made(pod);
    expect(reported).toEqual([what]);
  });
});

describe('a mirror pod is deleted', () => {
  test('not as long as it is right', () => {
    const { judge, reported } = bed({ wanted: 'static-1' });
    judge.removed(mirror('static-1'));
    expect(reported).toEqual(['static-1: the mirror pod web is deleted, and it is right']);
  });

  test('not before its static pod has ended', () => {
    const { judge, reported } = bed({ isEnding: true });
    judge.removed(mirror('static-1'));
    expect(reported).toEqual(['static-1: the mirror pod web is deleted before its static pod has ended']);
  });

  test.each([
    ['a user has deleted it', { wanted: 'static-1' }, mirror('static-1', { deleted: true })],
    ['another static pod is wanted', { wanted: 'static-2', isEnding: true }, mirror('static-1')],
    ['its static pod has ended', {}, mirror('static-1')],
  ])('when %s', (_, facts, pod) => {
    const { judge, reported } = bed(facts);
    judge.removed(pod);
    expect(reported).toEqual([]);
  });
});
