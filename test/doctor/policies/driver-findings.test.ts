import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'smol-toml';
import {
  type DriverFacts,
  driverFindings,
  settingsOfFile,
  settingsOfStatus,
} from '../../../src/doctor/policies/driver-findings.ts';

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

const status = (config: object) => settingsOfStatus({ config: JSON.stringify(config) });

const runc = (options: object) => ({
  defaultRuntimeName: 'runc',
  runtimes: { runc: { runtimeType: 'io.containerd.runc.v2', options } },
});

describe('of a verbose Status', () => {
  test('all of containerd 1.7', () => {
    expect(
      status({
        containerd: runc({ SystemdCgroup: true }),
        cni: { binDir: '/usr/lib/cni', confDir: '/etc/cni/net.d' },
        sandboxImage: 'registry.k8s.io/pause:3.8',
        enableSelinux: false,
      }),
    ).toEqual({
      driver: 'systemd',
      sandboxImage: 'registry.k8s.io/pause:3.8',
      confDir: '/etc/cni/net.d',
      binDirs: ['/usr/lib/cni'],
      selinux: false,
    });
  });

  test('of CRI-O the image of sandboxes and SELinux', () => {
    expect(status({ sandboxImage: 'registry.k8s.io/pause:3.10.2', crio: { SELinux: true } })).toMatchObject({
      driver: undefined,
      sandboxImage: 'registry.k8s.io/pause:3.10.2',
      confDir: undefined,
      selinux: true,
    });
  });

  test('runc without the setting uses files; of another runtime nothing is known', () => {
    expect(status({ containerd: runc({}) }).driver).toBe('cgroupfs');
    const runtimes = { kata: { runtimeType: 'io.containerd.kata.v2' } };
    expect(status({ containerd: { defaultRuntimeName: 'kata', runtimes } }).driver).toBeUndefined();
  });

  test('several folders of plugins', () => {
    expect(status({ cni: { binDirs: ['/a', '/b'] } }).binDirs).toEqual(['/a', '/b']);
  });

  test.each<Record<string, string>>([
    {},
    { config: '' },
    { config: '[1]' },
    { config: '{"containerd": 5, "cni": null}' },
  ])('nothing where the runtime says %j', (info) => {
    const settings = Object.values(settingsOfStatus(info));
    expect(settings.filter((value) => value !== undefined)).toEqual([]);
  });
});

describe("of containerd's file", () => {
  test('examples/systemd/containerd.toml', () => {
    const text = readFileSync(new URL('../../../examples/systemd/containerd.toml', import.meta.url), 'utf8');
    expect(settingsOfFile(parse(text))).toMatchObject({
      driver: 'systemd',
      confDir: '/etc/cni/net.d',
      binDirs: ['/usr/lib/cni'],
    });
  });

  test('version 3, of containerd 2', () => {
    const text = `version = 3
[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "pause:1"
[plugins."io.containerd.cri.v1.runtime"]
enable_selinux = true
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = true
[plugins."io.containerd.cri.v1.runtime".cni]
bin_dirs = ["/opt/cni/bin"]`;
    expect(settingsOfFile(parse(text))).toMatchObject({
      driver: 'systemd',
      sandboxImage: 'pause:1',
      selinux: true,
      binDirs: ['/opt/cni/bin'],
    });
  });

  test('without the setting, files', () => {
    expect(settingsOfFile({}).driver).toBe('cgroupfs');
  });
});
