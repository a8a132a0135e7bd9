import { describe, expect, test } from '@jest/globals';
import { type DriverFacts, driverFindings } from '../../../src/policies/doctor/driver-findings.ts';

const SYSTEMD = { isRunning: true, bus: { value: true } } as const;
const findings = (facts: Partial<DriverFacts>) =>
  driverFindings({
    configured: 'systemd',
    configuredIn: 'cgroupDriver of config.yaml',
    runtime: { driver: 'systemd', saidBy: 'Status' },
    runtimeName: 'containerd',
    runtimeFile: '/etc/containerd/config.toml',
    systemd: SYSTEMD,
    ...facts,
  });

describe.each(['systemd', 'cgroupfs'] as const)('configured: %s', (configured) => {
  const other = configured === 'systemd' ? 'cgroupfs' : 'systemd';

  test('the same driver on both sides is fine', () => {
    const runtime = { driver: configured, saidBy: 'file' } as const;
    expect(findings({ configured, runtime })).toEqual([
      { check: 'cgroup-driver', status: 'ok', message: `${configured} on both sides` },
    ]);
  });

  test('another driver of containerd is an error that names the file and the line', () => {
    const runtime = { driver: other, saidBy: 'Status' } as const;
    const [finding] = findings({ configured, runtime });
    expect(finding).toMatchObject({
      status: 'error',
      message: `the runtime uses ${other}, and cgroupDriver of config.yaml says ${configured}: no pod would start`,
    });
    expect(finding?.mend).toContain(`SystemdCgroup = ${configured === 'systemd'}`);
    expect(finding?.mend).toContain('/etc/containerd/config.toml, then systemctl restart containerd');
    expect(finding?.mend).toContain(`set cgroupDriver: ${other} for Statelet`);
  });

  test('where the runtime decides by RuntimeConfig, the configuration has no effect', () => {
    const runtime = { driver: other, saidBy: 'RuntimeConfig' } as const;
    expect(findings({ configured, runtime })).toMatchObject([
      { status: 'warning', mend: `set cgroupDriver: ${other}` },
    ]);
  });
});

test('CRI-O has its own setting', () => {
  const runtime = { driver: 'cgroupfs', saidBy: 'Status' } as const;
  const facts = { runtime, runtimeName: 'cri-o', runtimeFile: '/etc/crio/crio.conf' };
  expect(findings(facts)[0]?.mend).toMatch(
    /^set cgroup_manager = "systemd" in \/etc\/crio\/crio\.conf, then systemctl restart crio/u,
  );
});

test('a runtime that does not say its driver leaves it unknown, with what to compare', () => {
  expect(findings({ runtime: undefined })).toMatchObject([
    { status: 'unknown', mend: expect.stringContaining('/etc/containerd/config.toml') },
  ]);
});

describe('the systemd driver', () => {
  test('needs systemd as process 1, and the driver of files does not', () => {
    const systemd = { ...SYSTEMD, isRunning: false };
    expect(findings({ systemd })).toMatchObject([
      { status: 'error', mend: 'set cgroupDriver: cgroupfs, and SystemdCgroup = false for containerd' },
    ]);
    const runtime = { driver: 'cgroupfs', saidBy: 'Status' } as const;
    expect(findings({ systemd, configured: 'cgroupfs', runtime })).toMatchObject([{ status: 'ok' }]);
  });

  test.each([
    { problem: '/run/dbus/system_bus_socket: ENOENT', isForbidden: false, status: 'error' },
    { problem: 'refuses this user: REJECTED EXTERNAL', isForbidden: false, status: 'error' },
    { problem: 'EACCES', isForbidden: true, status: 'unknown' },
  ])('needs a D-Bus that takes it in: $problem', ({ status, ...bus }) => {
    const [finding] = findings({ systemd: { ...SYSTEMD, bus } });
    expect(finding).toMatchObject({ status, message: expect.stringContaining(bus.problem) });
    expect(finding?.mend).toBe(
      status === 'error'
        ? 'apt-get install dbus && systemctl start dbus.socket'
        : 'run statelet doctor as root',
    );
  });
});
