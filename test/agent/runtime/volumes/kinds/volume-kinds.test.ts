import { expect, test } from '@jest/globals';
import {
  VOLUME_KINDS,
  type VolumeKindName,
} from '../../../../../src/agent/policies/volumes/volume-source.ts';
import { kindOf } from '../../../../../src/agent/runtime/volumes/kinds/volume-kinds.ts';
import { podPaths } from '../../../../../src/agent/runtime/volumes/pod-paths.ts';

const POD = { metadata: { name: 'web', namespace: 'shop', uid: 'u-1' }, spec: { containers: [] } };
const PATHS = podPaths('/pods', 'u-1');
const LOCAL = { kind: 'local', path: '/disk', mountOptions: [], isReadOnly: false } as const;
const CLAIMED = { name: 'pv-1', source: LOCAL, readOnly: false, isExclusive: false };

const foundAs = (name: VolumeKindName) => ({
  pod: POD,
  paths: PATHS,
  volume: { name: 'v', ...(name !== 'local' && { [name]: { path: '/data' } }) },
  claimed: name === 'local' ? CLAIMED : undefined,
});

test('each kind gives containers a folder of its own, a path of the node, or a mount that the runtime makes', () => {
  const folders = (Object.keys(VOLUME_KINDS) as VolumeKindName[]).map((name) => {
    const found = foundAs(name);
    const kind = kindOf(found);
    return [name, kind.mount ? 'made by the runtime' : kind.folder?.(found)];
  });
  expect(folders).toEqual([
    ['emptyDir', '/pods/u-1/volumes/kubernetes.io~empty-dir/v'],
    ['hostPath', '/data'],
    ['downwardAPI', '/pods/u-1/volumes/kubernetes.io~downward-api/v'],
    ['projected', '/pods/u-1/volumes/kubernetes.io~projected/v'],
    ['configMap', '/pods/u-1/volumes/kubernetes.io~configmap/v'],
    ['secret', '/pods/u-1/volumes/kubernetes.io~secret/v'],
    ['image', 'made by the runtime'],
    ['local', '/pods/u-1/volumes/kubernetes.io~local-volume/pv-1'],
    ['csi', '/pods/u-1/volumes/kubernetes.io~csi/v/mount'],
  ]);
});

test('a path of the node is the same for a claim as for the pod itself, also where it is relative', () => {
  const source = { kind: 'hostPath', path: 'data', type: '' } as const;
  const claimed = { ...foundAs('local'), claimed: { ...CLAIMED, source } };
  const own = { ...foundAs('hostPath'), volume: { name: 'v', hostPath: { path: 'data' } } };
  expect([claimed, own].map((found) => kindOf(found).folder?.(found))).toEqual(['/data', '/data']);
});
