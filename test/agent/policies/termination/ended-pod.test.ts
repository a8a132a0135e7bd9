import { expect, test } from '@jest/globals';
import { deletionKill, manifestContent } from '../../../../src/agent/policies/termination/ended-pod.ts';
import {
  CONFIG_SEEN_ANNOTATION,
  MANIFEST_HASH_ANNOTATION,
} from '../../../../src/agent/policies/pod/pod-kinds.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';

const pod = (uid: string, metadata: object = {}, image = 'app:1'): Pod => ({
  metadata: { name: 'web', namespace: 'default', uid, ...metadata },
  spec: { containers: [{ name: 'main', image }] },
});

test('the kill has the grace period that was asked for, and leaves the phase to the containers', () => {
  expect(deletionKill({ uid: 'u', gracePeriodSeconds: 0 })).toMatchObject({
    podTerminationGracePeriodSecondsOverride: 0,
    podStatus: { reason: 'Deleted' },
  });
  const { podStatus, ...others } = deletionKill({ uid: 'u' });
  expect(others).toEqual({});
  expect(podStatus?.phase).toBeUndefined();
});

test('a UID made from the manifest changes with it, so its content need not be known', () => {
  expect(manifestContent(pod('0123456789abcdef0123456789abcdef'))).toBeUndefined();
});

test('with a UID of its own, a pod has another content if its image, its labels or its annotations change', () => {
  const content = manifestContent(pod('my-uid'));
  expect(content).toBeDefined();
  expect(manifestContent(pod('my-uid', {}, 'app:2'))).not.toBe(content);
  expect(manifestContent(pod('my-uid', { labels: { a: 'b' } }))).not.toBe(content);
  expect(manifestContent(pod('my-uid', { annotations: { a: 'b' } }))).not.toBe(content);
});

test('what the agent itself says of the manifest makes no difference to the content', () => {
  const annotations = { [MANIFEST_HASH_ANNOTATION]: '0123456789abcdef0123456789abcdef' };
  expect(manifestContent(pod('my-uid', { annotations }))).toBe(
    manifestContent(pod('my-uid', { annotations: {} })),
  );
});

test('when a source saw the pod first makes no difference to its content', () => {
  const seen = (time: string) => pod('my-uid', { annotations: { [CONFIG_SEEN_ANNOTATION]: time } });
  expect(manifestContent(seen('2026-01-01T00:00:00Z'))).toBe(manifestContent(seen('2026-01-02T00:00:00Z')));
});
