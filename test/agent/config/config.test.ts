import { describe, expect, test } from '@jest/globals';
import { resolveAdmissionSettings } from '../../../src/agent/config/load-admission-settings.ts';
import { resolveEvictionSettings } from '../../../src/agent/config/load-eviction-settings.ts';
import { resolveConfig, type RunFlags } from '../../../src/agent/config/config.ts';
import type { Host } from '../../../src/agent/config/root-folder.ts';
import type { KubeletConfiguration } from '../../../src/agent/config/kubelet-configuration.ts';

const HOST: Host = { hostname: 'Node-1.Example', homedir: '/home/me', isRoot: true, env: {} };
const resolved = (flags: RunFlags = {}, file: KubeletConfiguration = {}, host: Partial<Host> = {}) =>
  resolveConfig(flags, file, { ...HOST, ...host });

/** The settings of real containers are tested in load-node-settings.test.ts, those of clusters in load-cluster-settings.test.ts. */
const node: unknown = expect.any(Object);
const cluster: unknown = expect.any(Object);
const shutdown: unknown = expect.any(Object);
const evictionPlugins: unknown = expect.any(Object);
const given: unknown = expect.any(Object);
/** The settings of admission and eviction are tested in load-admission-settings.test.ts and load-eviction-settings.test.ts. */
const admission = {
  ...resolveAdmissionSettings({ flags: {}, file: {}, fileName: '' }),
  ...resolveEvictionSettings({ flags: {}, file: {}, fileName: '' }),
};

test('with a CRI runtime, logs are in the usual folder of pod logs', () => {
  const containerRuntimeEndpoint = 'unix:///run/containerd/containerd.sock';
  expect(resolved({ containerRuntimeEndpoint })).toMatchObject({
    containerRuntimeEndpoint,
    podLogsDir: '/var/log/pods',
  });
  expect(resolved({ containerRuntimeEndpoint }, { podLogsDir: '/logs' }).podLogsDir).toBe('/logs');
});

test("without flags and file everything is the kubelet's default", () => {
  expect(resolved()).toEqual({
    node,
    cluster,
    server: expect.any(Object),
    shutdown,
    evictionPlugins,
    given,
    ...admission,
    rootDir: '/var/lib/statelet',
    podLogsDir: '/var/lib/statelet/pods',
    nodeName: 'node-1.example',
    staticPodURLHeader: {},
    localPods: [],
    fileCheckFrequencyMs: 20_000,
    httpCheckFrequencyMs: 20_000,
    syncFrequencyMs: 60_000,
    containerRuntimeEndpoint: 'embedded',
    embeddedVolumes: 'mount',
    maxPods: 110,
    maxContainerRestartPeriodMs: 300_000,
    initialContainerRestartPeriodMs: 10_000,
    featureGates: {},
    healthz: { host: '127.0.0.1', port: 10_248 },
    logging: { format: 'auto', verbosity: 0 },
    live: false,
    exitWithPods: false,
    flightRecorderBytes: 64 * 2 ** 20,
  });
});

const FILE: KubeletConfiguration = {
  staticPodPath: '/etc/pods',
  staticPodURL: 'http://file',
  staticPodURLHeader: { A: ['file'] },
  fileCheckFrequency: '1s',
  httpCheckFrequency: '2s',
  syncFrequency: '3s',
  containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
  maxPods: 4,
  podLogsDir: '/var/log/pods',
  healthzBindAddress: '127.0.0.5',
  healthzPort: 6,
  crashLoopBackOff: { maxContainerRestartPeriod: '7s' },
  logging: { format: 'json', verbosity: 8 },
};

test('the file is used where no flag is given', () => {
  expect(resolved({}, { ...FILE, containerRuntimeEndpoint: 'embedded' })).toMatchObject({
    staticPodPath: '/etc/pods',
    staticPodURL: 'http://file',
    staticPodURLHeader: { A: ['file'] },
    fileCheckFrequencyMs: 1000,
    httpCheckFrequencyMs: 2000,
    syncFrequencyMs: 3000,
    maxPods: 4,
    podLogsDir: '/var/log/pods',
    healthz: { host: '127.0.0.5', port: 6 },
    maxContainerRestartPeriodMs: 7000,
    initialContainerRestartPeriodMs: 10_000,
    featureGates: {},
    logging: { format: 'json', verbosity: 8 },
  });
});

test('flags win over the file', () => {
  const flags: RunFlags = {
    podManifestPath: '/flag/pods',
    manifestUrl: 'http://flag',
    pods: ['pods', 'http://flag/pods', 'pods'],
    manifestUrlHeader: { B: ['flag'] },
    rootDir: '/flag/root',
    hostnameOverride: 'Flag',
    containerRuntimeEndpoint: 'embedded',
    fileCheckFrequency: 10,
    httpCheckFrequency: 20,
    syncFrequency: 30,
    maxPods: 40,
    healthzBindAddress: '::1',
    healthzPort: 60,
    exitWithPods: true,
    flightRecorderSize: 2 ** 20,
    live: true,
    inspect: true,
    v: 1,
    loggingFormat: 'text',
  };
  expect(resolved(flags, FILE)).toEqual({
    node,
    cluster,
    server: expect.any(Object),
    shutdown,
    evictionPlugins,
    given,
    ...admission,
    rootDir: '/flag/root',
    podLogsDir: '/var/log/pods',
    nodeName: 'flag',
    staticPodPath: '/flag/pods',
    staticPodURL: 'http://flag',
    staticPodURLHeader: { B: ['flag'] },
    localPods: [{ path: `${process.cwd()}/pods` }, { url: 'http://flag/pods' }],
    fileCheckFrequencyMs: 10,
    httpCheckFrequencyMs: 20,
    syncFrequencyMs: 30,
    containerRuntimeEndpoint: 'embedded',
    embeddedVolumes: 'mount',
    maxPods: 40,
    maxContainerRestartPeriodMs: 7000,
    initialContainerRestartPeriodMs: 10_000,
    featureGates: {},
    healthz: { host: '::1', port: 60 },
    logging: { format: 'text', verbosity: 1 },
    exitWithPods: true,
    flightRecorderBytes: 2 ** 20,
    live: true,
    inspect: { host: '127.0.0.1', port: 10_247 },
  });
});

test('a pod that is inspected alone is inspected at the default address, or at the one that is given', () => {
  const inspectOnly = { namespace: 'default', name: 'web' };
  expect(resolved({ inspectOnly })).toMatchObject({
    inspectOnly,
    inspect: { host: '127.0.0.1', port: 10_247 },
  });
  const inspect = { host: '::1', port: 1 };
  expect(resolved({ inspectOnly, inspect })).toMatchObject({ inspectOnly, inspect });
  const { given, ...alone } = resolved({ inspect: inspectOnly });
  expect({ ...alone, given: { ...given, flags: { inspectOnly } } }).toEqual(resolved({ inspectOnly }));
});

test('zero and empty mean the default, as with the kubelet', () => {
  const file: KubeletConfiguration = {
    staticPodPath: '',
    staticPodURL: '',
    syncFrequency: '0s',
    maxPods: 0,
    podLogsDir: '',
    containerRuntimeEndpoint: '',
    healthzBindAddress: '',
    logging: { format: '' },
  };
  expect(resolved({}, file)).toEqual({ ...resolved(), given });
});

describe('the endpoint', () => {
  test('is off at port 0, by flag and by file', () => {
    expect(resolved({ healthzPort: 0 }).healthz).toBeUndefined();
    expect(resolved({}, { healthzPort: 0 }).healthz).toBeUndefined();
  });

  test('takes any free port for "auto"', () => {
    expect(resolved({ healthzPort: 'auto' }).healthz).toEqual({ host: '127.0.0.1', port: 0 });
  });
});

describe('paths', () => {
  test('of flags are relative to the working directory', () => {
    expect(resolved({ podManifestPath: 'pods', rootDir: 'root' })).toMatchObject({
      staticPodPath: `${process.cwd()}/pods`,
      rootDir: `${process.cwd()}/root`,
      podLogsDir: `${process.cwd()}/root/pods`,
    });
  });

  test('of the root folder are in the home folder of the user if it is not root', () => {
    expect(resolved({}, {}, { isRoot: false }).rootDir).toBe('/home/me/.local/state/statelet');
    const env = { XDG_STATE_HOME: '/state' };
    expect(resolved({}, {}, { isRoot: false, env }).rootDir).toBe('/state/statelet');
  });
});

describe('errors', () => {
  const invalid = (message: RegExp) =>
    expect.objectContaining({ kind: 'InvalidArgument', message: expect.stringMatching(message) });

  test('an endpoint that is not a socket names its flag or field, and shows a valid one', () => {
    const file = { containerRuntimeEndpoint: 'tcp://127.0.0.1:1' };
    const sample = /unix:\/\/\/run\/containerd\/containerd\.sock$/.source;
    expect(() => resolved({ config: 'kubelet.yaml' }, file)).toThrow(
      invalid(new RegExp(`^kubelet\\.yaml: containerRuntimeEndpoint: "tcp:.*${sample}`)),
    );
    expect(() => resolved({ containerRuntimeEndpoint: '/x.sock' })).toThrow(
      invalid(new RegExp(`^--container-runtime-endpoint: "/x\\.sock": .*${sample}`)),
    );
  });

  test('ordinary pods of manifests cannot be beside those of an API server', () => {
    expect(() => resolved({ pods: ['/pods'], kubeconfig: '/kubeconfig' })).toThrow(
      invalid(/^--pods is for a node without an API server, and a kubeconfig was given: /),
    );
  });

  test('both cgroup drivers can be named with a CRI runtime', () => {
    for (const cgroupDriver of ['systemd', 'cgroupfs']) {
      const file = { cgroupDriver } as KubeletConfiguration;
      const { node } = resolved({ containerRuntimeEndpoint: 'unix:///x' }, file);
      expect(node.cgroupDriver).toBe(cgroupDriver);
    }
  });

  test.each(['my_node', '-a', 'a-', 'a..b', 'a b', 'a'.repeat(254)])(
    '"%s" cannot be the name of a node',
    (name) => {
      expect(() => resolved({ hostnameOverride: name })).toThrow(invalid(/^--hostname-override: /));
      expect(() => resolved({}, {}, { hostname: name })).toThrow(
        invalid(/^this machine's host name: .*--hostname-override/),
      );
    },
  );
});
