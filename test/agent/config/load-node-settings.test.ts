import { describe, expect, test } from '@jest/globals';
import { ALL_NODE_SETTINGS, resolveNodeSettings } from '../../../src/agent/config/load-node-settings.ts';
import { parseSetting } from '../../../src/agent/config/setting.ts';
import { KUBELET_CONFIGURATION_SCHEMA } from '../../../src/agent/config/kubelet-configuration.ts';

const resolve = (flags: Record<string, unknown> = {}, file: Record<string, unknown> = {}) =>
  resolveNodeSettings({ flags, file, fileName: 'kubelet.yaml' });
const setting = (flag: string) => ALL_NODE_SETTINGS.find((row) => row.flag?.startsWith(`${flag} `))!;

test("without flags and file everything is the kubelet's default", () => {
  expect(resolve()).toEqual({
    imageServiceEndpoint: '',
    enforceNodeAllocatable: ['pods'],
    kubeReservedCgroup: '',
    cpuManagerPolicy: 'none',
    cpuManagerPolicyOptions: {},
    cpuManagerReconcilePeriodMs: 10_000,
    reservedSystemCPUs: '',
    topologyManagerPolicy: 'none',
    topologyManagerScope: 'container',
    topologyManagerPolicyOptions: {},
    memoryManagerPolicy: 'None',
    reservedMemory: [],
    systemReservedCgroup: '',
    runtimeRequestTimeoutMs: 120_000,
    nodeIP: [],
    cgroupDriver: 'cgroupfs',
    cgroupRoot: '/',
    cgroupsPerQOS: true,
    runtimeCgroups: '',
    kubeletCgroups: '',
    systemCgroups: '',
    podPidsLimit: -1,
    singleProcessOOMKill: undefined,
    swapBehavior: '',
    memoryQoS: false,
    memoryThrottlingFactor: 0.9,
    memoryReservationPolicy: 'None',
    idsPerPod: 65_536,
    cpuCFSQuota: true,
    cpuCFSQuotaPeriodMs: 100,
    clusterDNS: [],
    clusterDomain: '',
    resolvConf: '/etc/resolv.conf',
    seccompDefault: false,
    allowedUnsafeSysctls: [],
    runtimeClasses: [],
    serializeImagePulls: true,
    maxParallelImagePulls: 0,
    registryPullQPS: 5,
    registryBurst: 10,
    imageCredentialProviderConfig: '',
    imageCredentialProviderBinDir: '',
    imagePullCredentialsVerificationPolicy: 'NeverVerifyPreloadedImages',
    preloadedImagesVerificationAllowlist: [],
    imageMinimumGCAgeMs: 120_000,
    imageMaximumGCAgeMs: 0,
    imageGCHighThresholdPercent: 85,
    imageGCLowThresholdPercent: 80,
    containerLogMaxSizeBytes: 10_485_760,
    containerLogMaxFiles: 5,
    containerLogMaxWorkers: 1,
    containerLogMonitorIntervalMs: 10_000,
    minimumContainerTTLMs: 0,
    maximumDeadContainersPerContainer: 1,
    maximumDeadContainers: -1,
  });
});

test.each([
  [{}, undefined, true],
  [{ maxParallelImagePulls: 1 }, undefined, true],
  [{ maxParallelImagePulls: 2 }, undefined, false],
  [{ maxParallelImagePulls: 1, serializeImagePulls: false }, undefined, false],
  [{ maxParallelImagePulls: 2, serializeImagePulls: true }, false, false],
])('whether pulls are serialized, with %j and the flag %s: %s', (file, flag, wanted) => {
  const flags = flag === undefined ? {} : { serializeImagePulls: flag };
  expect(resolve(flags, file).serializeImagePulls).toBe(wanted);
});

test('every field of the table is a field of KubeletConfiguration', () => {
  const fields = ALL_NODE_SETTINGS.flatMap(({ field }) => field?.split('.')[0] ?? []);
  expect(Object.keys(KUBELET_CONFIGURATION_SCHEMA.properties ?? {})).toEqual(expect.arrayContaining(fields));
});

test('the configuration file overrides the default, and a flag overrides the file', () => {
  const file = { runtimeRequestTimeout: '30s', clusterDNS: ['10.0.0.10'], containerLogMaxSize: '1Mi' };
  expect(resolve({ runtimeRequestTimeout: 5000 }, file)).toMatchObject({
    runtimeRequestTimeoutMs: 5000,
    clusterDNS: ['10.0.0.10'],
    containerLogMaxSizeBytes: 1_048_576,
  });
});

test('an empty field is the default, and so is 0 if it means not set', () => {
  const file = { resolvConf: '', runtimeRequestTimeout: '0s', containerLogMaxFiles: 0, registryPullQPS: 0 };
  expect(resolve({}, file)).toMatchObject({
    resolvConf: '/etc/resolv.conf',
    runtimeRequestTimeoutMs: 120_000,
    containerLogMaxFiles: 5,
    // For this field 0 is a value: no limit.
    registryPullQPS: 0,
  });
});

describe('a value that is not valid is an error that names', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
    ['the flag', { nodeIp: ['here'] }, {}, '--node-ip: must be IP addresses (got here)'],
    [
      'file and field',
      {},
      { containerLogMaxFiles: 1 },
      'kubelet.yaml: containerLogMaxFiles: must be 2 or more (got 1)',
    ],
    [
      'an invalid size',
      {},
      { containerLogMaxSize: 'big' },
      'kubelet.yaml: containerLogMaxSize: must be 1 or more (got "big")',
    ],
    [
      'the valid choices',
      { cgroupDriver: 'none' },
      {},
      '--cgroup-driver: must be cgroupfs or systemd (got none)',
    ],
    [
      'both thresholds',
      { imageGcLowThreshold: 90 },
      {},
      'imageGCLowThresholdPercent (--image-gc-low-threshold): must be below imageGCHighThresholdPercent, 85 (got 90)',
    ],
    [
      'parallel pulls that are serialized',
      { serializeImagePulls: true },
      { maxParallelImagePulls: 5 },
      'kubelet.yaml: maxParallelImagePulls: cannot be larger than 1 unless serializeImagePulls (--serialize-image-pulls) is false (got 5)',
    ],
    [
      'both ages of images',
      {},
      { imageMinimumGCAge: '1h', imageMaximumGCAge: '1h' },
      'kubelet.yaml: imageMaximumGCAge: must be greater than imageMinimumGCAge (--minimum-image-ttl-duration), 1h0m0s (got 1h0m0s)',
    ],
    [
      'the policies',
      {},
      { imagePullCredentialsVerificationPolicy: 'Sometimes' },
      'kubelet.yaml: imagePullCredentialsVerificationPolicy: must be one of NeverVerify, NeverVerifyPreloadedImages, NeverVerifyAllowlistedImages, AlwaysVerify (got Sometimes)',
    ],
    [
      'an entry of the list that does not hold',
      {},
      {
        imagePullCredentialsVerificationPolicy: 'NeverVerifyAllowlistedImages',
        preloadedImagesVerificationAllowlist: ['quay.io/app:1'],
      },
      'kubelet.yaml: preloadedImagesVerificationAllowlist: must be names of images without tag, or REGISTRY/PATH/*: neither tag nor digest is accepted in an image reference: quay.io/app:1',
    ],
    [
      'the policy that a list needs',
      {},
      { preloadedImagesVerificationAllowlist: ['quay.io/app'] },
      'kubelet.yaml: preloadedImagesVerificationAllowlist: imagePullCredentialsVerificationPolicy must be NeverVerifyAllowlistedImages with it (got NeverVerifyPreloadedImages)',
    ],
    [
      'the form of a socket',
      { imageServiceEndpoint: 'tcp://x' },
      {},
      '--image-service-endpoint: must be unix:///PATH, the socket of a CRI image service (got tcp://x)',
    ],
  ])('%s', (_what, flags, file, message) => {
    expect(() => resolve(flags, file)).toThrow(message);
  });
});

test('the text of a flag is read by its kind', () => {
  expect(parseSetting(setting('--runtime-request-timeout'), '1m30s')).toBe(90_000);
  expect(parseSetting(setting('--cluster-dns'), '10.0.0.10,10.0.0.11')).toEqual(['10.0.0.10', '10.0.0.11']);
  expect(parseSetting(setting('--cpu-cfs-quota'), 'false')).toBe(false);
  expect(parseSetting(setting('--pod-max-pids'), '-1')).toBe(-1);
  expect(parseSetting(setting('--container-log-max-size'), '1Ki')).toBe(1024);
});

test.each([
  ['--runtime-request-timeout', 'soon', 'It must be a duration such as 1m30s.'],
  ['--cpu-cfs-quota', 'perhaps', 'It must be true or false.'],
  ['--pod-max-pids', '1.5', 'It must be a whole number.'],
  ['--container-log-max-size', 'big', 'It must be a size such as 10Mi.'],
])('%s %s: %s', (flag, text, message) => {
  expect(() => parseSetting(setting(flag), text)).toThrow(message);
});

test.each(['/', 'runtime.slice', '/a/../b'])(
  '%s is no cgroup of the agent, the runtime or other daemons',
  (path) => {
    const right = 'must be an absolute path within the cgroup tree, and not its top';
    expect(() => resolve({ runtimeCgroups: path })).toThrow(right);
    expect(() => resolve({}, { kubeletCgroups: path })).toThrow(right);
    expect(() => resolve({}, { systemCgroups: path })).toThrow(right);
  },
);

test.each([0, 1000, 65_537, 2 ** 32])('%s user ids for a pod are refused', (idsPerPod) => {
  expect(() => resolve({}, { userNamespaces: { idsPerPod } })).toThrow(
    'userNamespaces.idsPerPod: must be a multiple of 65536 below 2^32',
  );
});
