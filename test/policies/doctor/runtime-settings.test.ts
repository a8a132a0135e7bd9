import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { describe, expect, test } from '@jest/globals';
import { settingsOfFile, settingsOfStatus } from '../../../src/policies/doctor/runtime-settings.ts';

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

  test('without a word on it, files', () => {
    expect(settingsOfFile({}).driver).toBe('cgroupfs');
  });
});
