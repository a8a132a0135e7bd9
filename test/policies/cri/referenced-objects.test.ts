import { expect, test } from '@jest/globals';
import { referencedObjects } from '../../../src/policies/cri/referenced-objects.ts';
import { podOf } from '../../support/pod-status-facts.ts';

test('a pod refers to the objects of its volumes, of its variables, and to its pull secrets', () => {
  const from = (name: string) => ({ envFrom: [{ configMapRef: { name: `${name}-all` } }] });
  const pod = podOf({
    imagePullSecrets: [{ name: 'pull' }, {}],
    volumes: [
      { name: 'a', configMap: { name: 'settings' } },
      { name: 'b', secret: { secretName: 'login' } },
      { name: 'c', projected: { sources: [{ configMap: { name: 'ca' } }, { secret: { name: 'key' } }] } },
      { name: 'd', emptyDir: {} },
      { name: 'e', persistentVolumeClaim: { claimName: 'claim' } },
    ],
    initContainers: [{ name: 'init', ...from('init') }],
    containers: [
      {
        name: 'main',
        envFrom: [{ secretRef: { name: 'login' } }],
        env: [
          { name: 'A', valueFrom: { configMapKeyRef: { name: 'one', key: 'a' } } },
          { name: 'B', valueFrom: { secretKeyRef: { name: 'two', key: 'b' } } },
          { name: 'C', value: 'x' },
        ],
      },
    ],
    ephemeralContainers: [{ name: 'debug', ...from('debug') }],
  });
  const { configMaps, secrets } = referencedObjects(pod);
  expect([...configMaps].sort()).toEqual(['ca', 'debug-all', 'init-all', 'one', 'settings']);
  expect([...secrets].sort()).toEqual(['key', 'login', 'pull', 'two']);
});
