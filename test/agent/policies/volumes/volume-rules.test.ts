import { describe, expect, test } from '@jest/globals';
import { volumeProblems } from '../../../../src/agent/policies/volumes/volume-rules.ts';
import type { Container, PodSpec } from '../../../../src/types/kubernetes.ts';

type Mount = NonNullable<Container['volumeMounts']>[number];
type Volume = NonNullable<PodSpec['volumes']>[number];

function withMount(mount: Partial<Mount>, container: Partial<Container> = {}): PodSpec {
  return {
    containers: [
      { name: 'main', ...container, volumeMounts: [{ name: 'data', mountPath: '/data', ...mount }] },
    ],
  };
}

function withVolume(volume: Omit<Volume, 'name'>): PodSpec {
  return { containers: [{ name: 'main' }], volumes: [{ name: 'data', ...volume }] };
}

const NAME = { fieldPath: 'metadata.name' };

test('a valid spec has no problems', () => {
  const spec: PodSpec = {
    ...withMount(
      { subPathExpr: '$(POD)', mountPropagation: 'Bidirectional' },
      { securityContext: { privileged: true } },
    ),
    volumes: [
      { name: 'data', emptyDir: { sizeLimit: '1Gi' } },
      {
        name: 'info',
        projected: {
          sources: [
            { downwardAPI: { items: [{ path: 'conf/labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
            {
              downwardAPI: {
                items: [
                  {
                    path: 'conf/cpu',
                    resourceFieldRef: { containerName: 'main', resource: 'limits.cpu' },
                  },
                ],
              },
            },
          ],
        },
      },
    ],
    hostAliases: [
      { ip: '10.0.0.1', hostnames: ['db', 'db.example.com'] },
      { ip: 'fd00::1' },
      { ip: '::ffff:10.0.0.1' },
    ],
  };
  expect(volumeProblems(spec)).toEqual([]);
});

test.each<[string, Partial<Mount>, string, string]>([
  ['subPath beside subPathExpr', { subPath: 'a', subPathExpr: 'b' }, 'subPathExpr', 'beside subPath'],
  [
    'Bidirectional without privileges',
    { mountPropagation: 'Bidirectional' },
    'mountPropagation',
    'privileged',
  ],
  [
    'recursiveReadOnly of what may be written',
    { recursiveReadOnly: 'Enabled' },
    'recursiveReadOnly',
    'needs readOnly',
  ],
  [
    'recursiveReadOnly with propagation',
    { readOnly: true, recursiveReadOnly: 'IfPossible', mountPropagation: 'HostToContainer' },
    'recursiveReadOnly',
    'needs mountPropagation None',
  ],
])('a mount must not have %s', (_, mount, field, message) => {
  expect(volumeProblems(withMount(mount))).toEqual([
    {
      path: `spec.containers[0].volumeMounts[0].${field}`,
      message: expect.stringContaining(message),
    },
  ]);
});

test('mounts of init containers are checked too', () => {
  const { containers } = withMount({ subPath: 'a', subPathExpr: 'b' });
  expect(volumeProblems({ containers: [{ name: 'main' }], initContainers: containers })).toMatchObject([
    { path: 'spec.initContainers[0].volumeMounts[0].subPathExpr' },
  ]);
});

test.each<[string, object, string, string]>([
  ['leads out', { path: '../x', fieldRef: NAME }, '.path', "must not contain '..'"],
  ['is absolute', { path: '/x', fieldRef: NAME }, '.path', 'must be relative'],
  [
    "is one of the agent's own names",
    { path: '..data', fieldRef: NAME },
    '.path',
    "must not start with '..'",
  ],
  ['is empty', { path: '', fieldRef: NAME }, '.path', 'must not be empty'],
  ['says nothing', { path: 'x' }, '', 'must have one of fieldRef, resourceFieldRef'],
  [
    'asks for an address',
    { path: 'x', fieldRef: { fieldPath: 'status.podIP' } },
    '.fieldRef.fieldPath',
    'not supported in a volume',
  ],
  [
    'names no container',
    { path: 'x', resourceFieldRef: { resource: 'limits.cpu' } },
    '.resourceFieldRef.containerName',
    'is required',
  ],
  [
    'names an unknown container',
    { path: 'x', resourceFieldRef: { resource: 'limits.cpu', containerName: 'other' } },
    '.resourceFieldRef.containerName',
    'there is no container "other"',
  ],
])(
  'an item of the downward API that %s is a problem, in a projected volume too',
  (_, item, field, message) => {
    const downwardAPI = { items: [item as { path: string }] };
    const problem = (path: string) => [{ path, message: expect.stringContaining(message) }];
    expect(volumeProblems(withVolume({ downwardAPI }))).toEqual(
      problem(`spec.volumes[0].downwardAPI.items[0]${field}`),
    );
    expect(volumeProblems(withVolume({ projected: { sources: [{ downwardAPI }] } }))).toEqual(
      problem(`spec.volumes[0].projected.sources[0].downwardAPI.items[0]${field}`),
    );
  },
);

test('a projected source has exactly one kind', () => {
  const sources = [{}, { configMap: { name: 'a' }, secret: { name: 'b' } }];
  expect(volumeProblems(withVolume({ projected: { sources } }))).toEqual([
    { path: 'spec.volumes[0].projected.sources[0]', message: 'must name a source' },
    { path: 'spec.volumes[0].projected.sources[1]', message: 'may have only one of configMap, secret' },
  ]);
});

test.each([
  ['the same path', 'a/b', './a//b'],
  ['a file where another needs a folder', 'a', 'a/b'],
])('two files of a volume must not have %s', (_, path, other) => {
  const sources = [path, other].map((name) => ({
    downwardAPI: { items: [{ path: name, fieldRef: NAME }] },
  }));
  expect(volumeProblems(withVolume({ projected: { sources } }))).toMatchObject([
    { path: 'spec.volumes[0].projected' },
  ]);
});

test.each(['10.0.0.256', '10.0.0', 'localhost', '', '1:2', '10.0.0.1\n6.6.6.6', '10.0.0.1.'])(
  'a host alias for %j is a problem',
  (ip) => {
    const spec = { containers: [], hostAliases: [{ ip, hostnames: ['db'] }] };
    expect(volumeProblems(spec)).toEqual([
      { path: 'spec.hostAliases[0].ip', message: 'must be an IP address' },
    ]);
  },
);

test.each(['Db', 'a b', 'a\nb', '', '-a'])('a host alias named %j is a problem', (name) => {
  const spec = { containers: [], hostAliases: [{ ip: '10.0.0.1', hostnames: ['db', name] }] };
  expect(volumeProblems(spec)).toMatchObject([{ path: 'spec.hostAliases[0].hostnames[1]' }]);
});

describe('a variable from a file', () => {
  const withRef = (ref: object, volumes: Volume[] = [{ name: 'conf', emptyDir: {} }]) => {
    const fileKeyRef = { volumeName: 'conf', path: 'a.env', key: 'K', ...ref };
    const container = { name: 'main', env: [{ name: 'X', valueFrom: { fileKeyRef } }] };
    return volumeProblems({ volumes, containers: [container], initContainers: [container] }).map(
      ({ path, message }) => `${path}: ${message}`,
    );
  };
  const REF = 'env[0].valueFrom.fileKeyRef';

  test('is read from an emptyDir of the pod', () => {
    expect(withRef({})).toEqual([]);
    expect(withRef({}, [{ name: 'conf' }])).toEqual([]);
    expect(withRef({ path: '/a.env' })).toEqual([]);
  });

  test.each<[object, string]>([
    [{ volumeName: 'nope' }, 'volumeName: there is no volume "nope"'],
    [{ path: '../a' }, "path: must not contain '..'"],
    [{ path: '/' }, 'path: must not be empty'],
    [{ key: 'K=1' }, "key: must be printable ASCII characters without '='"],
    [{ key: '' }, "key: must be printable ASCII characters without '='"],
  ])('%j is a problem', (ref, message) => {
    expect(withRef(ref)).toEqual([
      `spec.initContainers[0].${REF}.${message}`,
      `spec.containers[0].${REF}.${message}`,
    ]);
  });

  test('cannot be read from a hostPath', () => {
    expect(withRef({}, [{ name: 'conf', hostPath: { path: '/etc' } }])[0]).toBe(
      `spec.initContainers[0].${REF}.volumeName: must name an emptyDir`,
    );
  });
});
