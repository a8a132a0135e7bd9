import { describe, expect, test } from '@jest/globals';
import { testPod } from '../../../support/pods.ts';
import { bound, clock, desired, manager, server } from './status-writer-bed.ts';

const RUNNING = { phase: 'Running' };
const SUCCEEDED = { phase: 'Succeeded' };
const MIRROR = { 'kubernetes.io/config.mirror': 'hash', 'kubernetes.io/config.source': 'api' };

describe('a pod that was forgotten and is added again with its UID', () => {
  test('gets the status of its new life', async () => {
    const pod = bound('web');
    for (const message of ['one', 'two', 'three']) {
      manager.set(pod, { ...RUNNING, message });
      await clock.advance(0);
    }
    manager.forget(pod.metadata.uid);
    manager.set(pod, { ...RUNNING, message: 'again' });
    await clock.advance(0);
    expect(server.statusOf('web')?.message).toBe('again');
  });

  test('is read before its status is written again, though the watch shows it without a status of a node', async () => {
    const pod = bound('web', {}, true);
    manager.set(pod, { ...RUNNING, message: 'of its first life' });
    await clock.advance(0);
    manager.forget(pod.metadata.uid);
    manager.set(pod, RUNNING);
    await clock.advance(0);
    expect(server.requests).toEqual(['patch web', 'get web', 'patch web']);
    expect(server.statusOf('web')).not.toHaveProperty('message');
  });

  test('and is static: its new mirror pod does not get the status of its former life', async () => {
    const fixed = testPod({ name: 'fixed', annotations: { 'kubernetes.io/config.source': 'file' } });
    const mirror = (uid: string) => testPod({ name: 'fixed', uid, annotations: MIRROR });
    for (const pod of [fixed, mirror('mirror-1')]) desired.set(pod);
    server.put(mirror('mirror-1'));
    const { promise, resolve } = Promise.withResolvers<undefined>();
    server.before = () => promise;
    manager.set(fixed, SUCCEEDED);
    await clock.advance(0);
    expect(server.requests).toEqual(['get fixed']);
    manager.forget(fixed.metadata.uid);
    server.put(mirror('mirror-2'));
    desired.set(mirror('mirror-2'));
    manager.set(fixed, RUNNING);
    resolve(undefined);
    await clock.advance(0);
    expect(server.patches.map(({ status }) => status.phase)).toEqual(['Running']);
    manager.set(fixed, { ...RUNNING, message: 'goes on' });
    await clock.advance(0);
    expect(server.statusOf('fixed')).toMatchObject({ phase: 'Running', message: 'goes on' });
  });
});
