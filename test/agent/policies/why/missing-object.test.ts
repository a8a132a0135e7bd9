import { expect, test } from '@jest/globals';
import { missingObjects, otherProblems } from '../../../../src/agent/policies/why/missing-object.ts';
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
  ["couldn't find key color in ConfigMap shop/app", 'key color of ConfigMap shop/app'],
  [
    failed('settings', 'configmap references non-existent config key: color'),
    'key color of ConfigMap shop/app',
  ],
  [failed('keys', 'references non-existent secret key: tls.key'), 'key tls.key of Secret shop/tls'],
  [failed('all', 'references non-existent secret key: b'), 'key b of Secret shop/two'],
])('%s', (message, what) => {
  expect(missingObjects([message], POD)).toBe(`${what}, which does not exist`);
});

test.each([
  'connection refused',
  failed('gone', 'references non-existent secret key: b'),
  'failed to sync configmap cache: timed out waiting for the condition',
])('about something else: %s', (message) => {
  expect(missingObjects([message], POD)).toBeUndefined();
  expect(otherProblems([message, 'secret "tls" not found'], POD)).toEqual([message]);
});

test('a projected volume names several', () => {
  const message = failed('all', '[references non-existent secret key: b, configmap "app" not found]');
  expect(missingObjects([message], POD)).toBe(
    'key b of Secret shop/two and ConfigMap shop/app, which do not exist',
  );
  expect(otherProblems([message], POD)).toEqual([]);
  const mixed = failed('all', '[configmap "app" not found, no space left]');
  expect(otherProblems([mixed], POD)).toEqual([mixed]);
});

test('several are named once each, and not more than ten', () => {
  const two = [
    'secret "tls" not found',
    'configmap "app" not found',
    failed('keys', 'secret "tls" not found'),
  ];
  expect(missingObjects(two, POD)).toBe('Secret shop/tls and ConfigMap shop/app, which do not exist');
  const many = Array.from({ length: 13 }, (_, index) => `secret "s${index}" not found`);
  expect(missingObjects(many, POD)).toMatch(
    /^Secret shop\/s0, .* Secret shop\/s9 and 3 more, which do not exist$/,
  );
});
