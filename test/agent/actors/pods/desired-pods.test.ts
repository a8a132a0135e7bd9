import { beforeEach, expect, test } from '@jest/globals';
import { DesiredPods } from '../../../../src/agent/actors/pods/desired-pods.ts';
import { CONFIG_MIRROR_ANNOTATION } from '../../../../src/agent/policies/pod/pod-kinds.ts';
import { testPod } from '../../../support/pods.ts';

let desired: DesiredPods;
beforeEach(() => {
  desired = new DesiredPods();
});

const web = testPod({ name: 'web', uid: 'uid-1' });
const mirror = testPod({
  name: 'web',
  uid: 'uid-of-mirror',
  annotations: { [CONFIG_MIRROR_ANNOTATION]: 'hash' },
});

test('a pod is desired from set to delete', () => {
  expect(desired.set(web)).toEqual({ isMirror: false });
  expect([desired.has('uid-1'), desired.get('uid-1'), [...desired.keys()]]).toEqual([true, web, ['uid-1']]);
  desired.delete(web);
  expect([desired.has('uid-1'), desired.get('uid-1'), [...desired.keys()]]).toEqual([false, undefined, []]);
});

test('the newest version of a pod counts', () => {
  desired.set(web);
  const newer = testPod({ name: 'web', uid: 'uid-1', deleted: true });
  desired.set(newer);
  expect(desired.get('uid-1')).toBe(newer);
  expect([...desired.keys()]).toEqual(['uid-1']);
});

test('a mirror pod does not run: it belongs to its static pod', () => {
  desired.set(web);
  expect(desired.set(mirror)).toEqual({ isMirror: true });
  expect(desired.has('uid-of-mirror')).toBe(false);
  expect(desired.staticPodOf(mirror)).toBe(web);
});

test('a mirror pod may come before its static pod, and stay after it', () => {
  desired.set(mirror);
  expect(desired.staticPodOf(mirror)).toBeUndefined();
  desired.set(web);
  expect(desired.staticPodOf(mirror)).toBe(web);
  desired.delete(web);
  expect(desired.staticPodOf(mirror)).toBeUndefined();
});

test('the deletion of a mirror pod leaves its static pod', () => {
  desired.set(web);
  desired.set(mirror);
  desired.delete(mirror);
  expect([desired.has('uid-1'), desired.staticPodOf(mirror)]).toEqual([true, web]);
});

test('10: if two static pods have one full name, the mirror pod belongs to the newer one', () => {
  const newer = testPod({ name: 'web', uid: 'uid-2' });
  desired.set(web);
  desired.set(newer);
  expect(desired.staticPodOf(mirror)).toBe(newer);
  desired.delete(web);
  expect(desired.staticPodOf(mirror)).toBe(newer);
});

test('10: if the newer static pod is deleted while it waits, the mirror pod belongs to the older one again', () => {
  desired.set(web);
  desired.set(testPod({ name: 'web', uid: 'uid-2' }));
  desired.delete(testPod({ name: 'web', uid: 'uid-2' }));
  expect(desired.staticPodOf(mirror)).toBe(web);
});

test('pods of one name in different namespaces are different pods', () => {
  const other = { ...mirror, metadata: { ...mirror.metadata, namespace: 'other' } };
  desired.set(web);
  desired.set(other);
  expect([desired.staticPodOf(mirror), desired.staticPodOf(other)]).toEqual([web, undefined]);
});

test('clear forgets all pods', () => {
  desired.set(web);
  desired.set(mirror);
  desired.clear();
  expect([[...desired.keys()], desired.staticPodOf(mirror)]).toEqual([[], undefined]);
});

test('the UID of a mirror pod translates to that of its static pod, whichever came first', () => {
  desired.set(mirror);
  expect(desired.translateUID('uid-of-mirror')).toBe('uid-of-mirror');
  desired.set(web);
  expect([desired.translateUID('uid-of-mirror'), desired.translateUID('uid-1')]).toEqual(['uid-1', 'uid-1']);
  expect(desired.mirrorPodOf(web)).toBe(mirror);
});

test('a mirror pod is orphaned when no pod of its name is wanted any more', () => {
  desired.set(web);
  desired.set(mirror);
  expect(desired.orphanedMirrorPods()).toEqual([]);
  desired.delete(web);
  expect(desired.orphanedMirrorPods()).toEqual([mirror]);
});
