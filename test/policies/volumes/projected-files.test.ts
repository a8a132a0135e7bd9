import { describe, expect, test } from '@jest/globals';
import { downwardAPIFiles } from '../../../src/policies/volumes/downward-api-files.ts';
import { topLevelNames, volumePayload } from '../../../src/policies/volumes/projected-files.ts';
import {
  readOnlyFileMode,
  readOnlyFolderMode,
  volumeRootMode,
} from '../../../src/policies/volumes/volume-ownership.ts';
import { filesVolume, usedVolumes, volumeKind } from '../../../src/policies/volumes/volume-source.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';

const POD: Pod = {
  metadata: {
    name: 'web',
    namespace: 'shop',
    uid: 'u-1',
    labels: { zone: 'b', app: 'web', constructor: 'x' },
    annotations: { note: 'say "hi"\\\n\t\u0001\u00adé\u{1F600}', 'a.b/c': '' },
  },
  spec: {
    nodeName: 'node-1',
    containers: [{ name: 'main', resources: { limits: { cpu: '1500m' } } }],
  },
};

function content(fieldPath: string): string | Uint8Array | undefined {
  return downwardAPIFiles(POD, [{ path: 'x', fieldRef: { fieldPath } }], 0o644, {})[0]?.content;
}

describe('the downward API', () => {
  test.each([
    ['metadata.name', 'web'],
    ['metadata.namespace', 'shop'],
    ['metadata.uid', 'u-1'],
    ["metadata.labels['app']", 'web'],
    ["metadata.annotations['absent']", ''],
    ['metadata.labels', 'app="web"\nconstructor="x"\nzone="b"'],
  ])('%s', (fieldPath, expected) => {
    expect(content(fieldPath)).toBe(expected);
  });

  test('values are quoted as Go quotes them', () => {
    expect(content('metadata.annotations')).toBe('a.b/c=""\nnote="say \\"hi\\"\\\\\\n\\t\\x01\\u00adé😀"');
  });

  test.each(['status.podIP', 'spec.nodeName', 'metadata.labels[app]'])(
    '%s cannot be had as a file',
    (fieldPath) => {
      expect(() => content(fieldPath)).toThrow(`fieldPath ${fieldPath} is not supported in a volume`);
    },
  );

  test('resources are those of the container that is named, or of the node', () => {
    const item = (resource: string, containerName?: string) => ({
      path: 'x',
      resourceFieldRef: { resource, ...(containerName && { containerName }) },
    });
    const files = downwardAPIFiles(POD, [item('limits.cpu', 'main'), item('limits.memory', 'main')], 0o644, {
      memory: '1Ki',
    });
    expect(files.map((file) => file.content)).toEqual(['2', '1024']);
    expect(() => downwardAPIFiles(POD, [item('limits.cpu')], 0o644, {})).toThrow('must have containerName');
    expect(() => downwardAPIFiles(POD, [{ path: 'x' }], 0o644, {})).toThrow(
      'item x must have fieldRef or resourceFieldRef',
    );
  });

  test("an item's mode goes before the volume's", () => {
    const fieldRef = { fieldPath: 'metadata.name' };
    const items = [
      { path: 'a', fieldRef },
      { path: 'b', fieldRef, mode: 0o400 },
    ];
    expect(downwardAPIFiles(POD, items, 0o640, {}).map(({ mode }) => mode)).toEqual([0o640, 0o400]);
  });
});

describe('the files of a volume', () => {
  const file = (path: string, text = '') => ({ path, content: text, mode: 0o644 });

  test('of two with one path the later one counts', () => {
    const payload = volumePayload([file('a/b', '1'), file('c'), file('./a//b', '2')]);
    expect([...payload.keys()]).toEqual(['a/b', 'c']);
    expect(payload.get('a/b')?.content).toBe('2');
    expect([...topLevelNames(payload)]).toEqual(['a', 'c']);
  });

  test.each(['', '.', '/a', '../a', 'a/../b', '..data', '..a/b', 'a\0b', 'x'.repeat(256), 'x/'.repeat(3000)])(
    'a path such as %.20j is refused',
    (path) => {
      expect(() => volumePayload([file(path)])).toThrow(`path ${JSON.stringify(path)} must`);
    },
  );
});

describe('modes', () => {
  test('without a fsGroup they are as given', () => {
    expect([volumeRootMode(undefined), readOnlyFolderMode(undefined)]).toEqual([0o777, 0o755]);
    expect(readOnlyFileMode(0o400, undefined)).toBe(0o400);
  });

  test('with one the group may write into volumes, and read what is read-only', () => {
    expect([volumeRootMode(0), readOnlyFolderMode(0)]).toEqual([0o2777, 0o2755]);
    expect([readOnlyFileMode(0o400, 2000), readOnlyFileMode(0o111, 2000)]).toEqual([0o440, 0o551]);
  });
});

describe('the volumes of a pod', () => {
  test('are those that a container mounts', () => {
    const volumes = ['unused', 'b', 'a', 'debug'].map((name) => ({ name }));
    const mounting = (name: string, volume: string) => ({
      name,
      volumeMounts: [{ name: volume, mountPath: '/x' }],
    });
    const spec = {
      volumes,
      containers: [mounting('main', 'a')],
      initContainers: [mounting('init', 'b')],
      ephemeralContainers: [mounting('dbg', 'debug')],
    };
    expect(usedVolumes({ ...POD, spec }).map(({ name }) => name)).toEqual(['b', 'a', 'debug']);
  });

  test('without a source are emptyDirs', () => {
    expect(volumeKind({ name: 'x' })).toBe('emptyDir');
  });

  test('of another source are refused by its name', () => {
    expect(() => volumeKind({ name: 'x', nfs: { server: 's', path: '/' } })).toThrow(
      'a volume of nfs is not supported; there are emptyDir, hostPath, downwardAPI, projected, configMap, secret',
    );
  });

  test('with files are projected volumes of one source', () => {
    const items = [{ key: 'k', path: 'p' }];
    expect(filesVolume({ name: 'x', secret: { secretName: 's', items, optional: true } })).toEqual({
      sources: [{ secret: { name: 's', items, optional: true } }],
      defaultMode: 0o644,
    });
    expect(filesVolume({ name: 'x', configMap: { name: 'c', defaultMode: 0o600 } })).toMatchObject({
      sources: [{ configMap: { name: 'c' } }],
      defaultMode: 0o600,
    });
  });
});
