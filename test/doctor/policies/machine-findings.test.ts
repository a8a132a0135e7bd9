/** Limits, swap, the sandbox image, AppArmor and SELinux. */
import { describe, expect, test } from '@jest/globals';
import {
  kernelFindings,
  type LimitFacts,
  limitFindings,
  swapDevices,
  type SwapFacts,
  swapFindings,
} from '../../../src/doctor/policies/machine-findings.ts';
import {
  sandboxImageFindings,
  type SecurityFacts,
  securityFindings,
} from '../../../src/doctor/policies/runtime-findings.ts';

const MISSING = { problem: 'does not exist', isForbidden: false };

describe('limits', () => {
  const findings = (facts: Partial<LimitFacts>) =>
    limitFindings({
      openFiles: { value: 1_048_576 },
      inotifyInstances: { value: 128 },
      inotifyWatches: { value: 8192 },
      maxPods: 110,
      ...facts,
    }).map(({ check, status, mend }) => [check, status, mend]);
  const FINE = [
    ['open-files', 'ok', undefined],
    ['inotify', 'ok', undefined],
  ];

  test('that are high enough, or none', () => {
    expect(findings({})).toEqual(FINE);
    expect(findings({ openFiles: { value: Infinity } })).toEqual(FINE);
  });

  test('of open files, which depend on the number of pods', () => {
    const [few] = findings({ openFiles: { value: 1024 } });
    expect(few).toEqual(['open-files', 'warning', expect.stringContaining('LimitNOFILE=1048576')]);
    expect(findings({ openFiles: { value: 2048 }, maxPods: 10 })).toEqual(FINE);
  });

  test('of inotify, each with the command that raises it', () => {
    const [, instances, watches] = findings({
      inotifyInstances: { value: 64 },
      inotifyWatches: { value: 100 },
    });
    expect(instances?.[2]).toContain('sysctl -w fs.inotify.max_user_instances=1024');
    expect(watches?.[2]).toContain('sysctl -w fs.inotify.max_user_watches=65536');
  });

  test('that cannot be read', () => {
    const statuses = findings({ openFiles: MISSING, inotifyInstances: { ...MISSING, isForbidden: true } });
    expect(statuses.map(([, status]) => status)).toEqual(['error', 'unknown']);
  });
});

describe('swap', () => {
  const findings = (facts: Partial<SwapFacts>) =>
    swapFindings({ devices: { value: [] }, failSwapOn: true, swapBehavior: '', ...facts })[0];
  const devices = {
    value: swapDevices('Filename\tType\tSize\n/dev/sda2 partition 1000 0 -2\n/swap file 1 0 -3\n'),
  };

  test('that is off', () => {
    expect(findings({})).toEqual({ check: 'swap', status: 'ok', message: 'off' });
    expect(swapDevices('Filename\n')).toEqual([]);
  });

  test('that is on against failSwapOn', () => {
    expect(findings({ devices })).toMatchObject({
      status: 'warning',
      message: expect.stringContaining('/dev/sda2, /swap'),
      mend: expect.stringMatching(/^swapoff -a/u),
    });
  });

  test('that is wanted', () => {
    expect(findings({ devices, failSwapOn: false, swapBehavior: 'LimitedSwap' })).toMatchObject({
      status: 'ok',
      message: expect.stringContaining('Burstable pods use it'),
    });
  });

  test('of which nothing can be read', () => {
    expect(findings({ devices: MISSING })).toMatchObject({ status: 'error' });
  });
});

describe('the sandbox image', () => {
  const finding = (image: string | undefined, isPresent: boolean | undefined, isContainerd = true) =>
    sandboxImageFindings({ image, isPresent, isContainerd })[0];

  test('that is there, or unknown', () => {
    expect(finding('pause:1', true)).toMatchObject({ status: 'ok', message: 'pause:1' });
    expect(finding('pause:1', undefined)).toMatchObject({ status: 'unknown' });
    expect(finding(undefined, undefined)).toMatchObject({ status: 'unknown' });
  });

  test('that has to be pulled first, with the command of the runtime', () => {
    expect(finding('pause:1', false)).toMatchObject({
      status: 'warning',
      mend: 'ctr --namespace k8s.io images pull pause:1',
    });
    expect(finding('pause:1', false, false)?.mend).toBe('crictl pull pause:1');
  });
});

describe('security modules', () => {
  const statuses = (facts: Partial<SecurityFacts>) =>
    securityFindings({
      appArmor: false,
      hasParser: false,
      selinux: 'off',
      runtimeLabels: undefined,
      ...facts,
    }).map(({ status, mend }) => mend ?? status);

  test('that are off, or whose part the runtime takes', () => {
    expect(statuses({})).toEqual(['ok', 'ok']);
    expect(statuses({ appArmor: true, hasParser: true, selinux: 'enforcing', runtimeLabels: true })).toEqual([
      'ok',
      'ok',
    ]);
    expect(statuses({ selinux: 'permissive', runtimeLabels: false })).toEqual(['ok', 'ok']);
  });

  test('that are on without the runtime', () => {
    const [appArmor, selinux] = statuses({ appArmor: true, selinux: 'enforcing', runtimeLabels: false });
    expect(appArmor).toBe('apt-get install apparmor');
    expect(selinux).toContain('enable_selinux = true');
  });
});

test.each(['4.19.0', '5.4.0-150-generic', '6.12.41+deb13-amd64'])('Linux %s is new enough', (release) => {
  expect(kernelFindings(release)).toEqual([{ check: 'kernel', status: 'ok', message: `Linux ${release}` }]);
});

test.each(['4.18.0-553.el8', '3.10.0'])(
  'Linux %s is older than what Kubernetes is tested with',
  (release) => {
    expect(kernelFindings(release)).toMatchObject([
      {
        status: 'warning',
        message: expect.stringContaining(release),
        mend: expect.stringContaining('newer kernel'),
      },
    ]);
  },
);

test('of a kernel with another name nothing is known', () => {
  expect(kernelFindings('gVisor')).toMatchObject([{ status: 'unknown' }]);
});
