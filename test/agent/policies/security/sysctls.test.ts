import { describe, expect, test } from '@jest/globals';
import {
  dottedSysctl,
  sysctlPatternProblem,
  sysctlRejection,
} from '../../../../src/agent/policies/security/sysctls.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';

const podWith = (name: string, spec: Partial<Pod['spec']> = {}): Pod => {
  const base = testPod();
  const securityContext = { sysctls: [{ name, value: '1' }] };
  return { ...base, spec: { ...base.spec, ...spec, securityContext } };
};
const messageOf = (name: string, allowed: string[] = [], spec: Partial<Pod['spec']> = {}) =>
  sysctlRejection(podWith(name, spec), allowed)?.message;

describe('the name of a sysctl', () => {
  test.each([
    ['net.ipv4.tcp_rmem', 'net.ipv4.tcp_rmem'],
    ['net/ipv4/tcp_rmem', 'net.ipv4.tcp_rmem'],
    ['net/ipv4/conf/eth0.100/rp_filter', 'net.ipv4.conf.eth0/100.rp_filter'],
    ['net.ipv4.conf.eth0/100.rp_filter', 'net.ipv4.conf.eth0/100.rp_filter'],
    ['kernel', 'kernel'],
  ])('%s is %s with dots', (name, wanted) => {
    expect(dottedSysctl(name)).toBe(wanted);
  });
});

describe('admission', () => {
  test('safe sysctls are admitted in both spellings', () => {
    expect(sysctlRejection(podWith('net.ipv4.ip_unprivileged_port_start'), [])).toBeUndefined();
    expect(sysctlRejection(podWith('kernel/shm_rmid_forced'), [])).toBeUndefined();
    expect(sysctlRejection(testPod(), [])).toBeUndefined();
  });

  test('unsafe sysctls are rejected, and the message names them', () => {
    expect(sysctlRejection(podWith('net.core.somaxconn'), [])).toEqual({
      reason: 'SysctlForbidden',
      message: 'forbidden sysctl: "net.core.somaxconn" not allowlisted',
    });
  });

  test.each([[['net.core.somaxconn']], [['net.core.*']], [['net/core/somaxconn']], [['net*']]])(
    'unsafe ones that %j allows are',
    (allowed) => {
      expect(messageOf('net.core.somaxconn', allowed)).toBeUndefined();
      expect(messageOf('kernel.msgmax', allowed)).toContain('not allowlisted');
    },
  );

  test('a name that only begins like an allowed one is not allowed', () => {
    expect(messageOf('net.core.somaxconn2', ['net.core.somaxconn'])).toContain('not allowlisted');
  });

  test('sysctls of the whole machine are rejected', () => {
    expect(messageOf('vm.swappiness', ['vm.swappiness'])).toContain('not allowlisted');
  });

  test('sysctls that would be set for the node are rejected', () => {
    const net = 'net.ipv4.tcp_syncookies';
    expect(messageOf(net, [], { hostNetwork: true })).toBe(
      `forbidden sysctl: "${net}" not allowed with host net enabled`,
    );
    expect(messageOf('kernel.sem', ['kernel.sem'], { hostIPC: true })).toBe(
      'forbidden sysctl: "kernel.sem" not allowed with host ipc enabled',
    );
    expect(messageOf(net, [], { hostIPC: true })).toBeUndefined();
  });
});

describe('an entry of allowedUnsafeSysctls', () => {
  test.each([
    'net.core.somaxconn',
    'net.*',
    'net.ipv4.tcp_*',
    'kernel.msg*',
    'kernel.sem',
    'fs.mqueue.*',
    'net/core/*',
  ])('%s is valid', (pattern) => {
    expect(sysctlPatternProblem(pattern)).toBeUndefined();
  });

  test.each([
    ['vm.swappiness', 'not known to be namespaced'],
    ['kernel.*', 'not known to be namespaced'],
    ['*', 'neither'],
    ['net.*.forwarding', 'neither'],
    ['', 'neither'],
  ])('%j is refused', (pattern, message) => {
    expect(sysctlPatternProblem(pattern)).toContain(message);
  });
});
