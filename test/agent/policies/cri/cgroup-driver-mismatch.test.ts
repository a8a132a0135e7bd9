import { expect, test } from '@jest/globals';
import {
  cgroupDriverIn,
  driverProblemIn,
  wrongDriver,
} from '../../../../src/agent/policies/cri/cgroup-driver-mismatch.ts';

test('a runtime with another driver is not ready, and the message names the line to change on both sides', () => {
  expect(wrongDriver('systemd', 'cgroupfs')).toMatchObject({
    type: 'RuntimeReady',
    status: false,
    reason: 'CgroupDriverMismatch',
    message: expect.stringMatching(
      /driver is systemd, .* set cgroupDriver: systemd \(--cgroup-driver\) .* SystemdCgroup = false below \[plugins.*\/etc\/containerd\/config\.toml/,
    ),
  });
  expect(wrongDriver('cgroupfs', 'systemd').message).toContain('SystemdCgroup = true below');
});

test.each([
  [
    'runc create failed: unable to start container process: expected cgroupsPath to be of format "slice:prefix:name" for systemd cgroups, got "/kubepods/besteffort/podu/c" instead: unknown',
    'set cgroupDriver: systemd',
  ],
  [
    'cri-o configured with systemd cgroup manager, but did not receive slice as parent: /kubepods',
    'set cgroupDriver: systemd',
  ],
  [
    'cri-o configured with cgroupfs cgroup manager, but received systemd slice as parent: kubepods.slice',
    'set cgroupDriver: cgroupfs',
  ],
])('the error "%s" of the first pod comes from another driver', (message, mend) => {
  expect(driverProblemIn(message)).toContain(mend);
});

test('other errors of the runtime say nothing of its driver', () => {
  expect(driverProblemIn('failed to reserve sandbox name')).toBeUndefined();
});

const config = (runtime: object, defaultRuntimeName = 'runc') =>
  JSON.stringify({ containerd: { defaultRuntimeName, runtimes: { runc: runtime } } });

const RUNC = { runtimeType: 'io.containerd.runc.v2' };

test("the driver is that of the default handler's line SystemdCgroup", () => {
  expect(cgroupDriverIn(config({ ...RUNC, options: { SystemdCgroup: true } }))).toBe('systemd');
  expect(cgroupDriverIn(config({ ...RUNC, options: { SystemdCgroup: false } }))).toBe('cgroupfs');
  expect(cgroupDriverIn(config({ ...RUNC, options: null }))).toBe('cgroupfs');
});

test('another runtime, another default handler, and text of another form have no driver', () => {
  const texts = [
    '',
    '[]',
    '{',
    'null',
    'x'.repeat(2 ** 21),
    config({ runtimeType: 'io.containerd.kata.v2' }),
  ];
  for (const text of [...texts, config(RUNC, 'kata'), config(RUNC, 'constructor')]) {
    expect(cgroupDriverIn(text)).toBeUndefined();
  }
});
