import { expect, test } from '@jest/globals';
import { missingObject } from '../../../../src/agent/policies/why/missing-object.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';

const POD: Pod = {
  metadata: { name: 'web', namespace: 'shop', uid: 'u' },
  spec: {
    containers: [{ name: 'main' }],
    volumes: [
      { name: 'settings', configMap: { name: 'app', items: [{ key: 'color', path: 'c' }] } },
      { name: 'keys', secret: { secretName: 'tls', items: [{ key: 'tls.key', path: 'k' }] } },
      {
        name: 'all',
        projected: {
          sources: [
            { secret: { name: 'one', items: [{ key: 'a', path: 'a' }] } },
            { secret: { name: 'two', items: [{ key: 'b', path: 'b' }] } },
          ],
        },
      },
    ],
  },
};
const failed = (volume: string, why: string) => `MountVolume.SetUp failed for volume "${volume}" : ${why}`;

test.each([
  ['configmap "app" not found', 'ConfigMap shop/app'],
  [failed('keys', 'secret "tls" not found'), 'Secret shop/tls'],
  [
    'Unable to attach or mount volumes: unmounted volumes=[d], unattached volumes=[], failed to process volumes=[d]: error processing PVC shop/data: failed to fetch PVC from API server: persistentvolumeclaims "data" not found',
    'PersistentVolumeClaim shop/data',
  ],
  ["couldn't find key color in ConfigMap shop/app", 'ConfigMap shop/app, key color'],
  [
    failed('settings', 'configmap references non-existent config key: color'),
    'ConfigMap shop/app, key color',
  ],
  [failed('keys', 'references non-existent secret key: tls.key'), 'Secret shop/tls, key tls.key'],
  [failed('all', 'references non-existent secret key: b'), 'Secret shop/two, key b'],
])('%s', (message, what) => {
  expect(missingObject(message, POD)).toBe(`${what}, which does not exist`);
});

test.each([
  'connection refused',
  failed('gone', 'references non-existent secret key: b'),
  'failed to sync configmap cache: timed out waiting for the condition',
])('about something else: %s', (message) => {
  expect(missingObject(message, POD)).toBeUndefined();
});
