import { describe, expect, test } from '@jest/globals';
import {
  cgroupPath,
  cgroupRootOf,
  namedCgroup,
  podCgroup,
  podCgroups,
  qosCgroups,
  uidOfPodCgroup,
  unitOf,
} from '../../../../src/agent/policies/cgroups/cgroup-names.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';

const pod = (qosClass: string, uid = 'u-1'): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid },
  spec: { containers: [] },
  status: { qosClass },
});
const baseName = (path: string) => path.slice(path.lastIndexOf('/') + 1);

describe('the group of a pod', () => {
  const files = qosCgroups('/', 'cgroupfs');
  const slices = qosCgroups('/', 'systemd');

  test.each([
    ['Guaranteed', '/kubepods/podu-1'],
    ['Burstable', '/kubepods/burstable/podu-1'],
    ['BestEffort', '/kubepods/besteffort/podu-1'],
  ])('of class %s is %s', (qosClass, expected) => {
    expect(podCgroup(files, pod(qosClass))).toBe(expected);
  });

  test.each([
    ['Guaranteed', '/kubepods.slice/kubepods-podu_1.slice'],
    ['Burstable', '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podu_1.slice'],
    ['BestEffort', '/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu_1.slice'],
  ])('of class %s is with systemd %s', (qosClass, expected) => {
    expect(podCgroup(slices, pod(qosClass))).toBe(expected);
  });

  test('is below the configured root, in every spelling of that', () => {
    for (const root of ['/a/b', '/a/b/', 'a//b']) {
      expect(podCgroup(qosCgroups(root, 'cgroupfs'), pod('Burstable'))).toBe(
        '/a/b/kubepods/burstable/podu-1',
      );
    }
    expect(['', '/', '//'].map(cgroupPath)).toEqual(['/', '/', '/']);
  });

  test('is in slices of the configured root with systemd, and a hyphen in the root is no level', () => {
    expect(podCgroup(qosCgroups('/a/b-c/', 'systemd'), pod('Guaranteed'))).toBe(
      '/a.slice/a-b_c.slice/a-b_c-kubepods.slice/a-b_c-kubepods-podu_1.slice',
    );
    expect(cgroupRootOf('/a/b-c/', 'systemd')).toBe('/a.slice/a-b_c.slice');
    expect(cgroupRootOf('/', 'systemd')).toBe('/');
  });

  test('cannot lead out of its parent', () => {
    const hostile = pod('Burstable', 'x/../../../system');
    for (const groups of [files, slices]) {
      expect(() => podCgroup(groups, hostile)).toThrow('metadata.uid "x/../../../system" cannot name a ');
      expect(podCgroups(groups, hostile.metadata.uid)).toEqual([]);
    }
  });

  test('is no slice for a UID that could not be read back from it, or that systemd does not take', () => {
    for (const uid of ['a_b', 'ü', 'a b', '', 'x'.repeat(240), 'x\n']) {
      expect(() => podCgroup(slices, pod('Burstable', uid))).toThrow('cannot name a slice of systemd');
    }
    expect(podCgroup(slices, pod('Burstable', 'a.b:c'))).toContain('-poda.b:c.slice');
  });

  test('may be in three places for a pod of an unknown class', () => {
    expect(podCgroups(slices, 'u-1').map(baseName)).toEqual([
      'kubepods-podu_1.slice',
      'kubepods-burstable-podu_1.slice',
      'kubepods-besteffort-podu_1.slice',
    ]);
  });
});

describe.each(['cgroupfs', 'systemd'] as const)('with the driver %s', (driver) => {
  test("a UID is read back from the name of a pod's cgroup", () => {
    for (const uid of ['0a-1', '2f1c9d0e-7b6a-4c55-9a43-0d9c51c2b0aa', 'd41d8cd98f00b204e9800998ecf8427e']) {
      for (const group of podCgroups(qosCgroups('/x-y', driver), uid)) {
        expect(uidOfPodCgroup(baseName(group), driver)).toBe(uid);
      }
    }
  });

  test('no UID is read from another name', () => {
    const { kubepods, byClass } = qosCgroups('/', driver);
    const others = [
      'pod',
      'cgroup.procs',
      'apodx',
      'x-pod.slice',
      'kubepods-burstable-pod1.scope',
      '-.slice',
    ];
    for (const name of [kubepods, ...Object.values(byClass)].map(baseName).concat(others)) {
      expect(uidOfPodCgroup(name, driver)).toBeUndefined();
    }
  });
});

test('a group that a configuration names is a path for one driver, and a slice for the other', () => {
  expect(namedCgroup('system.slice/', 'cgroupfs')).toBe('/system.slice');
  for (const name of ['a-b.slice', '/a.slice/a-b.slice', 'a-b']) {
    expect(namedCgroup(name, 'systemd')).toBe('/a.slice/a-b.slice');
  }
  expect(namedCgroup('/', 'systemd')).toBe('/');
});

test('the slice of a group is the last part of its path', () => {
  expect(unitOf('/kubepods.slice/kubepods-burstable.slice')).toBe('kubepods-burstable.slice');
  expect(unitOf('/')).toBe('-.slice');
});
