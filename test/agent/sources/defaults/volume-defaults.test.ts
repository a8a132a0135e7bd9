import { expect, test } from '@jest/globals';
import { withVolumeDefaults } from '../../../../src/agent/sources/defaults/volume-defaults.ts';

test.each<[string, object, object]>([
  ['a volume of no kind is an emptyDir', {}, { emptyDir: {} }],
  [
    'the size limit of an emptyDir is a canonical text',
    { emptyDir: { sizeLimit: 1000 } },
    { emptyDir: { sizeLimit: '1k' } },
  ],
  ['a hostPath is not checked', { hostPath: { path: '/' } }, { hostPath: { path: '/', type: '' } }],
  [
    'files of the downward API have the mode 0644',
    { downwardAPI: {} },
    { downwardAPI: { defaultMode: 0o644 } },
  ],
  [
    'a mode that is set stays',
    { projected: { defaultMode: 0o400, sources: [] } },
    { projected: { defaultMode: 0o400, sources: [] } },
  ],
  [
    'an image without a tag is always pulled',
    { image: { reference: 'web' } },
    { image: { reference: 'web', pullPolicy: 'Always' } },
  ],
  [
    'volumes that need drivers are served with their defaults',
    { rbd: { image: 'i', monitors: ['m'] } },
    { rbd: { image: 'i', monitors: ['m'], pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } },
  ],
])('%s', (_rule, given, expected) => {
  expect(withVolumeDefaults({ name: 'v', ...given })).toEqual({ name: 'v', ...expected });
});

test('field references get a version, references to resources a divisor, in a projected volume too', () => {
  const fieldItem = { path: 'name', fieldRef: { fieldPath: 'metadata.name' } };
  const resourceItem = { path: 'cpu', resourceFieldRef: { resource: 'limits.cpu', divisor: '0.001' } };
  const expected = [
    { path: 'name', fieldRef: { fieldPath: 'metadata.name', apiVersion: 'v1' } },
    { path: 'cpu', resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } },
  ];
  const items = [fieldItem, resourceItem];
  expect(withVolumeDefaults({ name: 'v', downwardAPI: { items } }).downwardAPI?.items).toEqual(expected);
  const sources = [{ downwardAPI: { items } }];
  expect(withVolumeDefaults({ name: 'v', projected: { sources } }).projected?.sources).toEqual([
    { downwardAPI: { items: expected } },
  ]);
});
