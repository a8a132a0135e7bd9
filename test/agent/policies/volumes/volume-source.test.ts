import { describe, expect, test } from '@jest/globals';
import {
  filesMode,
  fileSources,
  hostPathOf,
  imageVolumesOf,
  isKeptOnDisk,
  isOptional,
  missingSource,
  projectionKind,
  usedVolumes,
  volumeKind,
} from '../../../../src/agent/policies/volumes/volume-source.ts';
import { podOf } from '../../../support/pod-status-facts.ts';

describe('the kind of a volume', () => {
  test.each([
    [{ name: 'v' }, 'emptyDir'],
    [{ name: 'v', emptyDir: {} }, 'emptyDir'],
    [{ name: 'v', hostPath: { path: '/data' } }, 'hostPath'],
    [{ name: 'v', downwardAPI: {} }, 'downwardAPI'],
    [{ name: 'v', projected: {} }, 'projected'],
    [{ name: 'v', configMap: {} }, 'configMap'],
    [{ name: 'v', secret: {} }, 'secret'],
    [{ name: 'v', image: {} }, 'image'],
  ])('of %j is %s', (volume, want) => {
    expect(volumeKind(volume)).toBe(want);
  });

  test('of another source is an error that names those that there are', () => {
    expect(() => volumeKind({ name: 'v', nfs: { path: '/', server: 's' } })).toThrow(
      'a volume of nfs is not supported; there are emptyDir, hostPath, downwardAPI, projected, configMap, secret',
    );
  });
});

test('a path of a hostPath volume begins at the root', () => {
  expect(hostPathOf({ path: 'data' })).toBe('/data');
  expect(hostPathOf({ path: '/data' })).toBe('/data');
});

describe('the volumes of a pod that are set up', () => {
  const volumes = ['c', 'unused', 'a', 'b'].map((name) => ({ name }));
  const mounting = (name: string, volume: string) => ({
    name,
    volumeMounts: [{ name: volume, mountPath: '/v' }],
  });

  test('are those that a container of any kind mounts, in the order of the spec', () => {
    const pod = podOf({
      volumes,
      containers: [mounting('app', 'a')],
      initContainers: [mounting('setup', 'b')],
      ephemeralContainers: [mounting('debug', 'c')],
    });
    expect(usedVolumes(pod).map(({ name }) => name)).toEqual(['c', 'a', 'b']);
  });

  test('are none where none is mounted', () => {
    expect(usedVolumes(podOf({ volumes }))).toEqual([]);
    expect(usedVolumes(podOf())).toEqual([]);
  });
});

test('the images that a container mounts are those of its own mounts', () => {
  const pod = podOf({ volumes: [{ name: 'i', image: {} }, { name: 'j', image: {} }, { name: 'e' }] });
  const volumeMounts = ['e', 'i'].map((name) => ({ name, mountPath: `/${name}` }));
  expect(imageVolumesOf(pod, { name: 'app', volumeMounts }).map(({ name }) => name)).toEqual(['i']);
  expect(imageVolumesOf(pod, { name: 'app' })).toEqual([]);
});

describe('the sources of a volume of files', () => {
  const items = [{ key: 'k', path: 'p' }];

  test('are those of a projected volume', () => {
    const sources = [{ configMap: { name: 'c' } }, { secret: { name: 's' } }];
    expect(fileSources({ name: 'v', projected: { sources } })).toEqual(sources);
    expect(fileSources({ name: 'v', projected: {} })).toEqual([]);
  });

  test('are one for a volume of downwardAPI, configMap or secret', () => {
    const configMap = { name: 'c', items };
    expect(fileSources({ name: 'v', configMap })).toEqual([{ configMap }]);
    expect(fileSources({ name: 'v', downwardAPI: {} })).toEqual([{ downwardAPI: { items: [] } }]);
    expect(fileSources({ name: 'v', secret: { secretName: 's', items, optional: true } })).toEqual([
      { secret: { name: 's', items, optional: true } },
    ]);
  });
});

// Each volume plugin of the kubelet refuses to make files without the mode that the API server sets.
test.each(['configMap', 'secret', 'downwardAPI', 'projected'] as const)(
  'the files of a %s volume have its defaultMode, and there are none without it',
  (kind) => {
    expect(filesMode({ name: 'v', [kind]: { defaultMode: 0o400 } })).toBe(0o400);
    expect(() => filesMode({ name: 'v', [kind]: {} })).toThrow(
      'no defaultMode used, not even the default value for it',
    );
  },
);

test('of volumes of files only those of a configMap may be kept on a disk', () => {
  expect(isKeptOnDisk({ name: 'v', configMap: {} })).toBe(true);
  expect(isKeptOnDisk({ name: 'v', secret: {} })).toBe(false);
});

describe('a projection', () => {
  test('is of the kind that it names', () => {
    expect(projectionKind({ serviceAccountToken: { path: 'token' } })).toBe('serviceAccountToken');
    expect(projectionKind({})).toBeUndefined();
  });

  test.each([
    [{ configMap: { optional: true } }, true],
    [{ secret: { optional: true } }, true],
    [{ clusterTrustBundle: { path: 'ca.pem', optional: true } }, true],
    [{ secret: {} }, false],
    [{ downwardAPI: {} }, false],
  ])('%j is optional: %s', (projection, want) => {
    expect(isOptional(projection)).toBe(want);
  });

  test.each([
    [{ configMap: { name: 'c' } }, 'configmap "c" not found'],
    [{ secret: { name: 's' } }, 'secret "s" not found'],
    [
      { clusterTrustBundle: { name: 'b', path: 'ca.pem' } },
      'clustertrustbundle.certificates.k8s.io "b" not found',
    ],
    [
      { clusterTrustBundle: { signerName: 'example.com/s', path: 'ca.pem' } },
      'combination of signerName and labelSelector matched zero ClusterTrustBundles',
    ],
  ])('%j says which object is missing', (projection, want) => {
    expect(missingSource(projection).message).toBe(want);
  });
});
