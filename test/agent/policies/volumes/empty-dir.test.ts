import { describe, expect, test } from '@jest/globals';
import {
  emptyDirFilesystem,
  type FileKind,
  hostPathCheck,
} from '../../../../src/agent/policies/volumes/empty-dir.ts';
import type { Container, Pod, PodSpec } from '../../../../src/types/kubernetes.ts';

type EmptyDir = NonNullable<NonNullable<PodSpec['volumes']>[number]['emptyDir']>;

function pod(containers: readonly Partial<Container>[], spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'u' },
    spec: { ...spec, containers: containers.map((container, i) => ({ name: `c${i}`, ...container })) },
  };
}

const limited = (memory: string): Partial<Container> => ({ resources: { limits: { memory } } });
const NODE = { memory: '4Gi' };

function optionsOf(subject: Pod, emptyDir: EmptyDir): readonly string[] | undefined {
  return emptyDirFilesystem(subject, { name: 'data', emptyDir }, NODE)?.options;
}

test('an emptyDir without a medium is a folder', () => {
  expect(emptyDirFilesystem(pod([{}]), { name: 'data', emptyDir: {} }, NODE)).toBeUndefined();
});

describe('an emptyDir in memory has the smallest of these sizes', () => {
  const GI = 2 ** 30;
  test.each<[string, Pod, EmptyDir, number]>([
    ['what the node has', pod([{}]), {}, 4 * GI],
    ['its limit', pod([{}]), { sizeLimit: '1Gi' }, GI],
    ['the limits of all containers', pod([limited('1Gi'), limited('2Gi')]), {}, 3 * GI],
    [
      'the limits of all containers, where its own is larger',
      pod([limited('1Gi')]),
      { sizeLimit: '2Gi' },
      GI,
    ],
    ['the node, where a container has no limit', pod([limited('1Gi'), {}]), {}, 4 * GI],
    ['the limit of the pod', pod([{}], { resources: { limits: { memory: '2Gi' } } }), {}, 2 * GI],
    ['the node, where the limit is larger', pod([limited('8Gi')]), { sizeLimit: '9Gi' }, 4 * GI],
    ['the node, where the limit is zero', pod([{}]), { sizeLimit: '0' }, 4 * GI],
  ])('%s', (_, subject, emptyDir, sizeBytes) => {
    expect(optionsOf(subject, { medium: 'Memory', ...emptyDir })).toEqual([`size=${sizeBytes}`, 'mode=1777']);
  });
});

test('if an init container has no limit, the pod has none', () => {
  const subject = pod([limited('1Gi')], { initContainers: [{ name: 'init' }] });
  expect(optionsOf(subject, { medium: 'Memory' })).toContain(`size=${4 * 2 ** 30}`);
});

test('the fsGroup is in the options of the mount', () => {
  const subject = pod([{}], { securityContext: { fsGroup: 2000 } });
  expect(optionsOf(subject, { medium: 'Memory' })?.slice(1)).toEqual(['mode=3777', 'gid=2000']);
});

describe('an emptyDir in huge pages', () => {
  const requesting = (...sizes: string[]): Partial<Container> => ({
    resources: { requests: Object.fromEntries(sizes.map((size) => [`hugepages-${size}`, '1Gi'])) },
  });

  test('has the only page size that the pod requests', () => {
    expect(emptyDirFilesystem(pod([requesting('2Mi')]), volume('HugePages'), NODE)).toEqual({
      type: 'hugetlbfs',
      options: [`pagesize=${2 * 2 ** 20}`, 'mode=777'],
    });
  });

  test('has the size that its medium names, in any spelling', () => {
    const subject = pod([requesting('2Mi', '1Gi')]);
    expect(emptyDirFilesystem(subject, volume('HugePages-1024Mi'), NODE)?.options[0]).toBe(
      `pagesize=${2 ** 30}`,
    );
  });

  test.each([
    ['HugePages', pod([{}]), 'no container requests hugepages-SIZE'],
    ['HugePages-1Gi', pod([requesting('2Mi')]), 'no container requests hugepages-1Gi'],
    ['HugePages', pod([requesting('2Mi', '1Gi')]), 'several page sizes (2Mi, 1Gi)'],
  ])('the medium %s is refused for some pods', (medium, subject, message) => {
    expect(() => emptyDirFilesystem(subject, volume(medium), NODE)).toThrow(message);
  });

  function volume(medium: string) {
    return { name: 'data', emptyDir: { medium } };
  }
});

test('another medium is refused, and the message names it', () => {
  expect(() => optionsOf(pod([{}]), { medium: 'Tape' })).toThrow('unknown storage medium "Tape"');
});

const KINDS: readonly (FileKind | undefined)[] = [
  'directory',
  'file',
  'socket',
  'character device',
  'block device',
  'other',
  undefined,
];

/** What a path may be so that the check passes. */
function accepted(type: string): (FileKind | undefined)[] {
  const check = hostPathCheck(type);
  return KINDS.filter((kind) => check?.problem('/data', kind) === undefined);
}

describe('the type of a hostPath volume', () => {
  test('"" checks nothing', () => {
    expect(hostPathCheck('')).toBeUndefined();
  });

  test.each([
    ['Directory', ['directory']],
    ['DirectoryOrCreate', ['directory']],
    ['Socket', ['socket']],
    ['CharDevice', ['character device']],
    ['BlockDevice', ['block device']],
  ])('%s accepts %j', (type, want) => {
    expect(accepted(type)).toEqual(want);
  });

  test.each(['File', 'FileOrCreate'])(
    '%s accepts, as the kubelet, everything that is no directory',
    (type) => {
      expect(accepted(type)).toEqual(['file', 'socket', 'character device', 'block device', 'other']);
    },
  );

  test.each([
    ['DirectoryOrCreate', { kind: 'directory', mode: 0o755 }],
    ['FileOrCreate', { kind: 'file', mode: 0o644 }],
    ['Directory', undefined],
    ['File', undefined],
  ])('%s makes %j where there is nothing', (type, want) => {
    expect(hostPathCheck(type)?.create).toEqual(want);
  });

  test('a path of another kind gives the message of the kubelet', () => {
    expect(hostPathCheck('Socket')?.problem('/run/x', 'file')).toBe(
      'hostPath type check failed: /run/x is not a socket file',
    );
  });

  test('an unknown type accepts nothing', () => {
    expect(accepted('Pipe')).toEqual([]);
    expect(hostPathCheck('Pipe')?.problem('/run/x', 'file')).toBe('Pipe is an invalid volume type');
  });
});
