import { describe, expect, test } from '@jest/globals';
import { mountPlan } from '../../../../src/agent/policies/volumes/volume-mounts.ts';
import type { VolumeKindName, VolumeMount } from '../../../../src/agent/policies/volumes/volume-source.ts';

const FACTS = {
  container: { name: 'main' },
  kind: 'emptyDir' as VolumeKindName,
  env: new Map([
    ['POD', 'web-0'],
    ['EMPTY', ''],
  ]),
  supportsRecursiveReadOnly: false,
};

function plan(mount: Partial<VolumeMount>, facts: Partial<typeof FACTS> = {}) {
  return mountPlan({ name: 'data', mountPath: '/data', ...mount }, { ...FACTS, ...facts });
}

test('by default the whole volume is mounted, writable and without propagation', () => {
  expect(plan({})).toEqual({
    containerPath: '/data',
    readonly: false,
    recursiveReadOnly: false,
    propagation: 'PROPAGATION_PRIVATE',
    subPath: undefined,
    selinuxRelabel: true,
  });
});

test('a relative path begins at the root of the container', () => {
  expect(plan({ mountPath: 'data' }).containerPath).toBe('/data');
});

test.each<[VolumeKindName, boolean]>([
  ['emptyDir', false],
  ['hostPath', false],
  ['downwardAPI', true],
  ['projected', true],
  ['configMap', true],
  ['secret', true],
])('a volume of %s is always read-only: %s', (kind, readonly) => {
  expect(plan({}, { kind }).readonly).toBe(readonly);
  expect(plan({ readOnly: true }, { kind }).readonly).toBe(true);
});

test('a hostPath volume gets no SELinux label', () => {
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

  test('another value is refused', () => {
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

  test('Enabled is an error if the runtime does not support it', () => {
    expect(() => plan({ readOnly: true, recursiveReadOnly: 'Enabled' })).toThrow(
      /^failed to resolve recursive read-only mode: volume ".*" requested recursive read-only mode, but it/,
    );
  });

  test('it needs readOnly, and no propagation', () => {
    expect(() => plan({ recursiveReadOnly: 'Enabled' }, supported)).toThrow('needs readOnly');
    const mount = { readOnly: true, recursiveReadOnly: 'Enabled', mountPropagation: 'HostToContainer' };
    expect(() => plan(mount, supported)).toThrow('is not possible with mountPropagation HostToContainer');
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

  test('..data is allowed', () => {
    expect(plan({ subPath: '..data/x' }).subPath).toEqual(['..data', 'x']);
  });

  test('an expression is expanded with the variables of the container', () => {
    expect(plan({ subPathExpr: 'logs/$(POD)/$$(POD)' }).subPath).toEqual(['logs', 'web-0', '$(POD)']);
  });

  test('is refused where it is longer than a path may be, also by its variables', () => {
    const env = new Map([['LONG', 'x/'.repeat(1_000)]]);
    expect(() => plan({ subPath: 'x/'.repeat(2_048) })).toThrow('volumeMount data: the path in the volume');
    expect(() => plan({ subPathExpr: '$(LONG)$(LONG)$(LONG)' }, { env })).toThrow('shorter than 4096 bytes');
    expect(() => plan({ subPathExpr: '$(LONG)'.repeat(500_000) }, { env })).toThrow(
      'shorter than 4096 bytes',
    );
  });

  test('an unknown or empty variable is an error that names it', () => {
    expect(() => plan({ subPathExpr: 'logs/$(NODE)' })).toThrow(/^missing value for NODE$/);
    expect(() => plan({ subPathExpr: '$(NODE)/$(EMPTY)/$(NODE)' })).toThrow(
      /^missing value for EMPTY, NODE$/,
    );
  });

  test.each(['/etc', '../x', 'a/..'])('a variable with the value %s is refused', (value) => {
    const env = new Map([['POD', value]]);
    expect(() => plan({ subPathExpr: '$(POD)' }, { env })).toThrow('must not');
  });
});
