import { describe, expect, test } from '@jest/globals';
import {
  cgroupPath,
  podCgroup,
  podCgroupName,
  qosCgroups,
  uidOfPodCgroup,
} from '../../../src/policies/cgroups/cgroup-names.ts';
import type { Pod } from '../../../src/types/kubernetes.ts';

const pod = (qosClass: string, uid = 'u-1'): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid },
  spec: { containers: [] },
  status: { qosClass },
});

describe('the group of a pod', () => {
  test.each([
    ['Guaranteed', '/kubepods/podu-1'],
    ['Burstable', '/kubepods/burstable/podu-1'],
    ['BestEffort', '/kubepods/besteffort/podu-1'],
  ])('of class %s is %s', (qosClass, expected) => {
    expect(podCgroup(qosCgroups('/'), pod(qosClass))).toBe(expected);
  });

  test('is below the configured root, in every spelling of that', () => {
    for (const root of ['/a/b', '/a/b/', 'a//b']) {
      expect(podCgroup(qosCgroups(root), pod('Burstable'))).toBe('/a/b/kubepods/burstable/podu-1');
    }
    expect(['', '/', '//'].map(cgroupPath)).toEqual(['/', '/', '/']);
  });

  test('cannot lead out of its parent', () => {
    expect(() => podCgroup(qosCgroups('/'), pod('Burstable', 'x/../../../system'))).toThrow(
      'metadata.uid "x/../../../system" cannot name a cgroup',
    );
  });
});

test("a UID is read back from the name of a pod's cgroup, and from no other name", () => {
  expect(uidOfPodCgroup(podCgroupName('0a-1'))).toBe('0a-1');
  for (const name of ['pod', 'burstable', 'cgroup.procs', 'apodx']) {
    expect(uidOfPodCgroup(name)).toBeUndefined();
  }
});
