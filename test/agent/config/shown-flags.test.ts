import { expect, test } from '@jest/globals';
import { Command } from 'commander';
import { addRunFlags } from '../../../src/commands/run-flags.ts';
import { resolveConfig, type RunFlags } from '../../../src/agent/config/config.ts';
import type { Host } from '../../../src/agent/config/root-folder.ts';
import { idleFlags } from '../../../src/agent/config/kubelet/idle-flags.ts';
import { shownFlags } from '../../../src/agent/config/shown-flags.ts';

const HOST: Host = { hostname: 'node-1', homedir: '/home/me', isRoot: true, env: {} };
const shown = (flags: RunFlags = {}) => shownFlags(resolveConfig(flags, {}, HOST));

test('has every flag of statelet run and those without effect, and no other', () => {
  const names = addRunFlags(new Command()).options.map(({ long }) => long?.slice(2) ?? '');
  expect(Object.keys(shown()).sort()).toEqual([...names, ...idleFlags().keys()].sort());
});

test('a flag that is not given has its default', () => {
  expect(shown()).toMatchObject({
    config: '',
    'cluster-dns': '[]',
    'container-log-max-size': '10Mi',
    'container-runtime-endpoint': 'embedded',
    'flight-recorder-size': '64Mi',
    'healthz-port': '10248',
    'hostname-override': 'node-1',
    inspect: '',
    'root-dir': '/var/lib/statelet',
    'runtime-request-timeout': '2m0s',
    v: '0',
  });
});

test('a flag without effect has what was given, else its default, and no password', () => {
  const idle = {
    'hairpin-mode': ['none', 'hairpin-veth'],
    vmodule: ['a=1', 'b=2'],
    'storage-driver-password': ['hunter2'],
  };
  expect(shown({ idle })).toMatchObject({
    'hairpin-mode': 'hairpin-veth',
    vmodule: 'a=1,b=2',
    'oom-score-adj': '-999',
    'storage-driver-password': '<masked>',
  });
});

test('values are written as Go writes those of its flags', () => {
  const flags: RunFlags = {
    clusterDns: ['10.0.0.10', '10.0.0.11'],
    runtimeRequestTimeout: 90_000,
    systemReserved: { cpu: '1', memory: '1Gi' },
    inspect: { host: '::1', port: 1 },
    healthzPort: 'auto',
    exitWithPods: true,
    live: true,
    inspectOnly: { namespace: 'default', name: 'web' },
  };
  expect(shown(flags)).toMatchObject({
    'cluster-dns': '[10.0.0.10,10.0.0.11]',
    'runtime-request-timeout': '1m30s',
    'system-reserved': 'cpu=1,memory=1Gi',
    inspect: '[::1]:1',
    'inspect-only': 'default/web',
    live: 'true',
    'healthz-port': 'auto',
    'exit-with-pods': 'true',
  });
  expect(shown({ inspect: true }).inspect).toBe('127.0.0.1:10247');
  expect(shown({ inspect: { namespace: 'default', name: 'web' } }).inspect).toBe('default/web');
});

test('shows no password of the URL of manifests, and no value of its headers', () => {
  const flags = shown({
    manifestUrl: 'http://user:password@host/',
    manifestUrlHeader: { Authorization: ['Bearer abc'], B: ['abc'] },
  });
  expect(flags['manifest-url']).toBe('http://host/');
  expect(flags['manifest-url-header']).toBe('Authorization:<masked>,B:<masked>');
});
