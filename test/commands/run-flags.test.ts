import { describe, expect, test } from '@jest/globals';
import { Command } from 'commander';
import { addRunFlags, addRunOnceFlags } from '../../src/commands/run-flags.ts';

function parse(...args: string[]): unknown {
  const command = new Command('run').exitOverride().configureOutput({ writeErr: () => undefined });
  return addRunFlags(command).parse(args, { from: 'user' }).opts();
}

test('a flag that is not given has no value, so that the configuration file can set it', () => {
  expect(parse()).toEqual({});
});

test('durations become milliseconds, numbers numbers', () => {
  expect(
    parse(
      '--sync-frequency',
      '1m30s',
      '--file-check-frequency=300ms',
      '--http-check-frequency',
      '2h',
      '--max-pods',
      '0',
    ),
  ).toEqual({ syncFrequency: 90_000, fileCheckFrequency: 300, httpCheckFrequency: 7_200_000, maxPods: 0 });
});

test.each([['-v', '4'], ['-v=4'], ['-v4'], ['--v', '4'], ['--v=4']])(
  'the log level is read as by klog: %s %s',
  (...args) => {
    expect(parse(...args)).toEqual({ v: 4 });
  },
);

describe('headers are read as by the kubelet', () => {
  test('several, with commas between or by repeating the flag', () => {
    expect(
      parse('--manifest-url-header', 'a:hello, b:again', '--manifest-url-header', 'b : beautiful'),
    ).toEqual({
      manifestUrlHeader: { a: ['hello'], b: ['again', 'beautiful'] },
    });
  });

  test('with colons in the value', () => {
    expect(parse('--manifest-url-header', 'a:b:c')).toEqual({ manifestUrlHeader: { a: ['b:c'] } });
  });
});

test.each([
  ['127.0.0.1:9000', '127.0.0.1', 9000],
  [':9000', '127.0.0.1', 9000],
  ['9000', '127.0.0.1', 9000],
  ['0', '127.0.0.1', 0],
  ['localhost:9000', 'localhost', 9000],
  ['0.0.0.0', '0.0.0.0', 10_247],
  ['[::1]:9000', '::1', 9000],
  ['::1', '::1', 10_247],
])('--inspect=%s means host %s and port %d', (value, host, port) => {
  expect(parse(`--inspect=${value}`)).toEqual({ inspect: { host, port } });
});

test.each([
  ['64Mi', 64 * 2 ** 20],
  ['1G', 1_000_000_000],
  ['0', 0],
])('--flight-recorder-size=%s is %d bytes', (value, bytes) => {
  expect(parse(`--flight-recorder-size=${value}`)).toEqual({ flightRecorderSize: bytes });
});

test.each(['much', '-1', '1023Ki', '1500m'])('--flight-recorder-size=%s is refused', (value) => {
  expect(() => parse(`--flight-recorder-size=${value}`)).toThrow(/at least 1Mi, or 0/u);
});

test('lists of resources become maps; repeated flags are combined', () => {
  expect(
    parse(
      '--kube-reserved=cpu=200m,memory=500Mi',
      '--kube-reserved=cpu=1',
      ...['--eviction-hard', 'memory.available<5%', '--node-labels', 'disk=ssd'],
      '--preemption-lower-priority-first=false',
    ),
  ).toEqual({
    kubeReserved: { cpu: '1', memory: '500Mi' },
    evictionHard: { 'memory.available': '5%' },
    nodeLabels: { disk: 'ssd' },
    preemptionLowerPriorityFirst: false,
  });
});

test('a switch without a value is on', () => {
  expect(parse('--preemption-lower-priority-first')).toEqual({ preemptionLowerPriorityFirst: true });
});

test.each([
  ['--system-reserved', 'cpu', /--system-reserved.*It must be RESOURCE=QUANTITY with commas between/],
  ['--register-with-taints', 'a', /--register-with-taints.*It must be KEY=VALUE:EFFECT or KEY:EFFECT/],
])('%s %s is an error that shows a valid value', (flag, value, message) => {
  expect(() => parse(flag, value)).toThrow(message);
});

test('--inspect takes an address, or a pod with its namespace', () => {
  expect(parse('--inspect', '[::1]:8')).toEqual({ inspect: { host: '::1', port: 8 } });
  expect(parse('--inspect', 'default/web.1')).toEqual({ inspect: { namespace: 'default', name: 'web.1' } });
  expect(() => parse('--inspect=default/')).toThrow(/NAMESPACE\/POD/u);
});

test('--inspect-only takes a pod with its namespace', () => {
  expect(parse('--inspect-only', 'default/web.1')).toEqual({
    inspectOnly: { namespace: 'default', name: 'web.1' },
  });
});

test.each(['web', 'default/', '/web', 'a/b/c', '127.0.0.1:1'])('--inspect-only=%s names no pod', (value) => {
  expect(() => parse(`--inspect-only=${value}`)).toThrow(/NAMESPACE\/POD/u);
});

test('--inspect without a value is the default address', () => {
  expect(parse('--inspect', '--exit-with-pods')).toEqual({ inspect: true, exitWithPods: true });
});

test.each([
  ['auto', 'auto'],
  ['0', 0],
  ['10350', 10_350],
])('--healthz-port %s', (value, port) => {
  expect(parse('--healthz-port', value)).toEqual({ healthzPort: port });
});

describe('statelet run-once', () => {
  const parseOnce = (...args: string[]): unknown =>
    addRunOnceFlags(new Command('run-once')).exitOverride().parse(args, { from: 'user' }).opts();

  test('has the flags for the sources of pods, and those for its retries', () => {
    expect(
      parseOnce(
        '--pod-manifest-path',
        'pods',
        '--max-pods',
        '3',
        '--max-retries',
        '0',
        '--retry-delay',
        '2s',
      ),
    ).toEqual({ podManifestPath: 'pods', maxPods: 3, maxRetries: 0, retryDelay: 2_000 });
  });

  test.each(['--exit-with-pods', '--healthz-port=0', '--sync-frequency=1m', '--inspect'])(
    'does not take flags that only a daemon can use: %s',
    (flag) => {
      const silent = new Command('run-once').configureOutput({ writeErr: () => undefined });
      expect(() => addRunOnceFlags(silent).exitOverride().parse([flag], { from: 'user' })).toThrow(
        'unknown option',
      );
    },
  );
});

test('a list may be given by several flags; of --node-ip the last one counts', () => {
  const given = parse(
    '--cluster-dns=10.0.0.1',
    '--cluster-dns',
    '10.0.0.2,10.0.0.3',
    '--node-ip=1.1.1.1',
    '--node-ip=2.2.2.2',
  );
  expect(given).toEqual({ clusterDns: ['10.0.0.1', '10.0.0.2', '10.0.0.3'], nodeIp: ['2.2.2.2'] });
});
