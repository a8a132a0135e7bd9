import { describe, expect, test } from '@jest/globals';
import { mountPlan } from '../../../src/policies/volumes/volume-mounts.ts';
import { isWithin, mountOf, mountsBelow, parseMountInfo } from '../../../src/policies/volumes/mount-table.ts';
import type { VolumeKind, VolumeMount } from '../../../src/policies/volumes/volume-source.ts';

const FACTS = {
  container: { name: 'main' },
  kind: 'emptyDir' as VolumeKind,
  env: new Map([
    ['POD', 'web-0'],
    ['EMPTY', ''],
  ]),
  supportsRecursiveReadOnly: false,
};

function plan(mount: Partial<VolumeMount>, facts: Partial<typeof FACTS> = {}) {
  return mountPlan({ name: 'data', mountPath: '/data', ...mount }, { ...FACTS, ...facts });
}

test('without more the whole volume can be written and shares no mounts', () => {
  expect(plan({})).toEqual({
    containerPath: '/data',
    readonly: false,
    recursiveReadOnly: false,
    propagation: 'PROPAGATION_PRIVATE',
    subPath: undefined,
    selinuxRelabel: true,
  });
});

test('a relative path is taken from the root of the container', () => {
  expect(plan({ mountPath: 'data' }).containerPath).toBe('/data');
});

test.each<[VolumeKind, boolean]>([
  ['emptyDir', false],
  ['hostPath', false],
  ['downwardAPI', true],
  ['projected', true],
  ['configMap', true],
  ['secret', true],
])('%s is read-only by itself: %s', (kind, readonly) => {
  expect(plan({}, { kind }).readonly).toBe(readonly);
  expect(plan({ readOnly: true }, { kind }).readonly).toBe(true);
});

test('what belongs to the node is not labelled for the pod', () => {
  expect(plan({}, { kind: 'hostPath' }).selinuxRelabel).toBe(false);
});

describe('mountPropagation', () => {
  const privileged = { container: { name: 'main', securityContext: { privileged: true } } };

  test.each([
    ['None', 'PROPAGATION_PRIVATE'],
    ['HostToContainer', 'PROPAGATION_HOST_TO_CONTAINER'],
    ['Bidirectional', 'PROPAGATION_BIDIRECTIONAL'],
  ])('%s is %s', (mountPropagation, propagation) => {
    expect(plan({ mountPropagation }, privileged).propagation).toBe(propagation);
  });

  test('Bidirectional needs a privileged container', () => {
    expect(() => plan({ mountPropagation: 'Bidirectional' })).toThrow(
      'volumeMount data: mountPropagation Bidirectional is only for privileged containers',
    );
  });

  test('another one is refused', () => {
    expect(() => plan({ mountPropagation: 'Sideways' })).toThrow('mountPropagation Sideways is not known');
  });
});

describe('recursiveReadOnly', () => {
  const supported = { supportsRecursiveReadOnly: true };

  test.each([
    ['Disabled', true, false],
    ['IfPossible', false, false],
    ['IfPossible', true, true],
    ['Enabled', true, true],
  ])('%s, with support of the runtime: %s, makes it %s', (recursiveReadOnly, supports, expected) => {
    const facts = { supportsRecursiveReadOnly: supports };
    expect(plan({ readOnly: true, recursiveReadOnly }, facts).recursiveReadOnly).toBe(expected);
  });

  test('Enabled is an error where the runtime cannot do it', () => {
    expect(() => plan({ readOnly: true, recursiveReadOnly: 'Enabled' })).toThrow(
      /^failed to resolve recursive read-only mode: volume ".*" requested recursive read-only mode, but it/,
    );
  });

  test('it needs readOnly, and no propagation', () => {
    expect(() => plan({ recursiveReadOnly: 'Enabled' }, supported)).toThrow('needs readOnly');
    const mount = { readOnly: true, recursiveReadOnly: 'Enabled', mountPropagation: 'HostToContainer' };
    expect(() => plan(mount, supported)).toThrow('cannot be had with mountPropagation HostToContainer');
  });
});

describe('subPath', () => {
  test('is split into names', () => {
    expect(plan({ subPath: './a//b/' }).subPath).toEqual(['a', 'b']);
    expect(plan({ subPath: '.' }).subPath).toEqual([]);
    expect(plan({ subPath: '' }).subPath).toBeUndefined();
  });

  test.each([
    ['/etc', 'must not be an absolute path'],
    ['a/../../b', "must not contain '..'"],
    ['..', "must not contain '..'"],
    ['a\0b', 'NUL'],
  ])('%j is refused', (subPath, message) => {
    expect(() => plan({ subPath })).toThrow(message);
  });

  test('..data is a name like any other', () => {
    expect(plan({ subPath: '..data/x' }).subPath).toEqual(['..data', 'x']);
  });

  test('an expression takes the variables of the container', () => {
    expect(plan({ subPathExpr: 'logs/$(POD)/$$(POD)$(EMPTY)' }).subPath).toEqual(['logs', 'web-0', '$(POD)']);
  });

  test('a variable that there is not is an error that names it', () => {
    expect(() => plan({ subPathExpr: 'logs/$(NODE)' })).toThrow(/^missing value for NODE$/);
  });

  test.each(['/etc', '../x', 'a/..'])('a variable that holds %s leads nowhere', (value) => {
    const env = new Map([['POD', value]]);
    expect(() => plan({ subPathExpr: '$(POD)' }, { env })).toThrow('must not');
  });
});

describe('the table of mounts', () => {
  const MOUNTS = parseMountInfo(
    [
      '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw',
      '36 22 0:30 / /pods/u/volumes/a rw master:3 - tmpfs tmpfs rw,size=4k',
      '37 36 0:31 / /pods/u/volumes/a/b\\040c\\134d rw shared:7 master:1 - tmpfs tmpfs rw',
      '38 22 8:1 /x//deleted /pods/u/volumes/a rw - ext4 /dev/sda1 rw',
      '39 22 8:1 / /pods/u2 rw - ext4 - rw',
      '',
    ].join('\n'),
  );

  test('what is mounted last is unmounted first', () => {
    expect(mountsBelow(MOUNTS, '/pods/u')).toEqual([
      '/pods/u/volumes/a',
      '/pods/u/volumes/a/b c\\d',
      '/pods/u/volumes/a',
    ]);
  });

  test('a folder lies on the nearest mount, of several in one place on the last', () => {
    expect(mountOf(MOUNTS, '/pods/u/volumes/a/b c\\d/e')).toEqual({
      path: '/pods/u/volumes/a/b c\\d',
      shared: true,
    });
    expect(mountOf(MOUNTS, '/pods/u/volumes/a/x')).toEqual({ path: '/pods/u/volumes/a', shared: false });
    expect(mountOf(MOUNTS, '/pods/u/volumes/ab')).toEqual({ path: '/', shared: true });
  });

  test('a name that begins alike lies elsewhere', () => {
    expect(isWithin('/pods/u', '/pods/u2')).toBe(false);
    expect(isWithin('/', '/pods')).toBe(true);
  });
});
