/** examples/systemd: what a machine with Debian 13 is made a node with. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { loadConfiguration } from '../src/agent/config/load-configuration.ts';
import { parseManifest } from '../src/agent/sources/manifests/read-manifest.ts';
import { installedProgram } from './support/installed-program.ts';

const EXAMPLE = fileURLToPath(new URL('../examples/systemd/', import.meta.url));
const read = (name: string) => readFileSync(EXAMPLE + name, 'utf8');

test('README.md has ten commands, and names the files that are there', () => {
  const readme = read('README.md');
  const commands = /```sh\n([^`]*)```/u.exec(readme)?.[1]?.trim().split('\n') ?? [];
  expect(commands).toHaveLength(10);
  const names = readdirSync(EXAMPLE).filter((name) => name !== 'README.md');
  const inTable = Array.from(readme.matchAll(/^\| `([^`]+)`/gmu), ([, name]) => name);
  expect(inTable.sort()).toEqual(names.sort());
  const copied = commands.flatMap((command) => /^(?:install .*|cp) ([\w.-]+) \//u.exec(command)?.[1] ?? []);
  expect(copied.length).toBeGreaterThan(2);
  expect(copied.filter((name) => !names.includes(name))).toEqual([]);
});

test('config.yaml names the socket and the cgroup driver that containerd.toml has', async () => {
  const { configuration, warnings } = await loadConfiguration(`${EXAMPLE}config.yaml`);
  expect([configuration, warnings]).toMatchObject([
    {
      containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
      cgroupDriver: 'systemd',
      staticPodPath: '/etc/statelet/pods',
    },
    [],
  ]);
});

test('first-pod.yaml is a pod', () => {
  const { pods, problems } = parseManifest(readFileSync(`${EXAMPLE}first-pod.yaml`), {
    source: 'local',
    nodeName: 'node',
  });
  expect([problems, pods.length]).toEqual([[], 1]);
});

(installedProgram('containerd') ? test : test.skip)(
  'containerd takes containerd.toml: the systemd driver, and the CNI folders of Debian',
  () => {
    const args = ['-c', `${EXAMPLE}containerd.toml`, 'config', 'dump'];
    const lines = execFileSync('containerd', args, { encoding: 'utf8' })
      .split('\n')
      .map((line) => line.trim());
    expect(lines).toEqual(
      expect.arrayContaining([
        'SystemdCgroup = true',
        'bin_dir = "/usr/lib/cni"',
        'conf_dir = "/etc/cni/net.d"',
        'default_runtime_name = "runc"',
      ]),
    );
  },
);

(installedProgram('systemd-analyze') ? describe : describe.skip)('systemd-analyze verify', () => {
  const UNITS = 'etc/systemd/system';
  /** Of the units that statelet.service names, and of those that every unit has. */
  const OTHERS = ['sysinit', 'basic', 'shutdown', 'network-online', 'multi-user'].map(
    (name) => `${name}.target`,
  );
  let root: string;
  const put = (name: string, text: string, mode = 0o644) => {
    mkdirSync(join(root, dirname(name)), { recursive: true });
    writeFileSync(join(root, name), text, { mode });
  };
  const verify = () =>
    spawnSync('systemd-analyze', ['verify', `--root=${root}`, 'statelet.service'], { encoding: 'utf8' });

  beforeAll(() => {
    root = mkdtempSync(join(tmpdir(), 'statelet-units-'));
    put('usr/bin/statelet', '#!/bin/sh\n', 0o755);
    for (const name of OTHERS) put(`${UNITS}/${name}`, `[Unit]\nDescription=${name}\n`);
    cpSync(`${EXAMPLE}statelet.service`, join(root, UNITS, 'statelet.service'));
  });
  afterAll(() => rmSync(root, { recursive: true }));

  test('finds nothing in statelet.service', () => {
    expect(verify()).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  test('finds nothing in it with 10-cluster.conf, which has the only command then', () => {
    put(`${UNITS}/statelet.service.d/10-cluster.conf`, read('10-cluster.conf'));
    expect(verify()).toMatchObject({ status: 0, stdout: '', stderr: '' });
    const commands = read('10-cluster.conf')
      .split('\n')
      .filter((line) => line.startsWith('ExecStart='));
    expect(commands[0]).toBe('ExecStart=');
    expect(commands).toHaveLength(2);
  });

  test('would find a key that systemd does not know', () => {
    put(`${UNITS}/statelet.service.d/20-wrong.conf`, '[Service]\nKilMode=process\n');
    expect(verify().stderr).toContain("Unknown key 'KilMode'");
    rmSync(join(root, UNITS, 'statelet.service.d/20-wrong.conf'));
  });
});
