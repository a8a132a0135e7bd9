import { expect, test } from '@jest/globals';
import { resolveConfig, type RunFlags } from '../../../src/agent/config/config.ts';
import type { Host } from '../../../src/agent/config/root-folder.ts';
import { shownConfiguration } from '../../../src/agent/config/shown-configuration.ts';

const HOST: Host = { hostname: 'node-1', homedir: '/home/me', isRoot: true, env: {} };
const shown = (flags: RunFlags = {}, file: Readonly<Record<string, unknown>> = {}) =>
  shownConfiguration(resolveConfig(flags, file, HOST));

/** As a kubelet 1.36.2 answered, with the same file; what was particular to its machine is left out. */
const OF_KUBELET =
  '"enableServer":true,"podLogsDir":"/podlogs","syncFrequency":"1m30s","fileCheckFrequency":"20s","httpCheckFrequency":"20s",' +
  '"address":"10.99.0.26","port":10250,' +
  '"authentication":{"x509":{},"webhook":{"enabled":false,"cacheTTL":"2m0s"},"anonymous":{"enabled":true}},' +
  '"authorization":{"mode":"AlwaysAllow","webhook":{"cacheAuthorizedTTL":"5m0s","cacheUnauthorizedTTL":"30s"}},' +
  '"registryPullQPS":5,"registryBurst":10,"imagePullCredentialsVerificationPolicy":"NeverVerifyPreloadedImages",' +
  '"eventRecordQPS":50,"eventBurst":100,"enableDebuggingHandlers":true,"healthzPort":0,"healthzBindAddress":"127.0.0.1",' +
  '"oomScoreAdj":0,"clusterDNS":["10.0.0.10"],"streamingConnectionIdleTimeout":"4h0m0s","nodeStatusUpdateFrequency":"20s",' +
  '"nodeStatusReportFrequency":"20s","nodeLeaseDurationSeconds":40,"imageMinimumGCAge":"2m0s","imageMaximumGCAge":"0s",' +
  '"imageGCHighThresholdPercent":85,"imageGCLowThresholdPercent":80,"volumeStatsAggPeriod":"1m0s","cgroupsPerQOS":false,' +
  '"cgroupDriver":"cgroupfs","cpuManagerPolicy":"none","cpuManagerReconcilePeriod":"10s","memoryManagerPolicy":"None",' +
  '"topologyManagerPolicy":"none","topologyManagerScope":"container","runtimeRequestTimeout":"2m0s",' +
  '"hairpinMode":"promiscuous-bridge","maxPods":110,"podPidsLimit":-1,"resolvConf":"/etc/resolv.conf","cpuCFSQuota":true,' +
  '"cpuCFSQuotaPeriod":"100ms","nodeStatusMaxImages":50,"maxOpenFiles":1000000,' +
  '"contentType":"application/vnd.kubernetes.protobuf","kubeAPIQPS":50,"kubeAPIBurst":100,"serializeImagePulls":true,' +
  '"evictionPressureTransitionPeriod":"5m0s","mergeDefaultEvictionSettings":false,"enableControllerAttachDetach":true,' +
  '"makeIPTablesUtilChains":false,"iptablesMasqueradeBit":14,"iptablesDropBit":15,"failSwapOn":false,"memorySwap":{},' +
  '"containerLogMaxSize":"102400Ki","containerLogMaxFiles":5,"containerLogMaxWorkers":1,"containerLogMonitorInterval":"10s",' +
  '"configMapAndSecretChangeDetectionStrategy":"Watch","systemReserved":{"cpu":"100m"},"volumePluginDir":"/plugins",' +
  '"logging":{"format":"text","flushFrequency":"5s","verbosity":0,"options":{"text":{"infoBufferSize":"0"},"json":{"infoBufferSize":"0"}}},' +
  '"enableSystemLogHandler":false,"enableSystemLogQuery":false,"shutdownGracePeriod":"0s","shutdownGracePeriodCriticalPods":"0s",' +
  '"crashLoopBackOff":{"maxContainerRestartPeriod":"5m0s"},"enableProfilingHandler":false,"enableDebugFlagsHandler":false,' +
  '"seccompDefault":false,"memoryThrottlingFactor":0.9,"memoryReservationPolicy":"None",' +
  '"registerWithTaints":[{"key":"a","effect":"NoSchedule"}],"registerNode":true,"localStorageCapacityIsolation":true,' +
  '"containerRuntimeEndpoint":"unix:///containerd.sock","failCgroupV1":false';

const FILE = {
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  containerRuntimeEndpoint: 'unix:///containerd.sock',
  failCgroupV1: false,
  failSwapOn: false,
  cgroupsPerQOS: false,
  enforceNodeAllocatable: [],
  address: '10.99.0.26',
  healthzPort: 0,
  oomScoreAdj: 0,
  makeIPTablesUtilChains: false,
  enableProfilingHandler: false,
  enableDebugFlagsHandler: false,
  enableSystemLogHandler: false,
  syncFrequency: '90s',
  containerLogMaxSize: '102400Ki',
  registerWithTaints: [{ key: 'a', effect: 'NoSchedule' }],
  systemReserved: { cpu: '100m' },
  clusterDNS: ['10.0.0.10'],
  nodeStatusUpdateFrequency: '20s',
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  evictionHard: {},
  podLogsDir: '/podlogs',
  volumePluginDir: '/plugins',
  maxPods: 0,
  logging: { format: 'text' },
};

test('has the bytes that the kubelet has for the same file', () => {
  const identity = '"kind":"KubeletConfiguration","apiVersion":"kubelet.config.k8s.io/v1beta1"';
  expect(JSON.stringify(shown({}, FILE))).toBe(`{${identity},${OF_KUBELET}}`);
});

test('without flags and file it has the defaults', () => {
  expect(shown()).toMatchObject({
    evictionHard: {
      'imagefs.available': '15%',
      'imagefs.inodesFree': '5%',
      'memory.available': '100Mi',
      'nodefs.available': '10%',
      'nodefs.inodesFree': '5%',
    },
    enforceNodeAllocatable: ['pods'],
    podLogsDir: '/var/lib/statelet/pods',
    containerRuntimeEndpoint: 'embedded',
    logging: { format: 'auto', verbosity: 0 },
  });
});

test('the keys of maps are sorted', () => {
  expect(Object.keys(shown().evictionHard as object)).toEqual(
    Object.keys(shown().evictionHard as object).sort(),
  );
});

test('flags win over the file, in the notation of the file', () => {
  const flags: RunFlags = {
    runtimeRequestTimeout: 90_000,
    containerLogMaxSize: 20 * 2 ** 20,
    clusterDns: ['10.0.0.11'],
    registerWithTaints: [{ key: 'b', value: 'c', effect: 'NoExecute' }],
    maxPods: 7,
    syncFrequency: 5_000,
    v: 4,
    healthzPort: 1234,
    podManifestPath: '/etc/pods',
    authenticationTokenWebhookCacheTtl: 60_000,
    port: 10_350,
  };
  expect(shown(flags, FILE)).toMatchObject({
    runtimeRequestTimeout: '1m30s',
    containerLogMaxSize: '20Mi',
    clusterDNS: ['10.0.0.11'],
    registerWithTaints: [{ key: 'b', value: 'c', effect: 'NoExecute' }],
    maxPods: 7,
    syncFrequency: '5s',
    logging: { verbosity: 4 },
    healthzPort: 1234,
    staticPodPath: '/etc/pods',
    port: 10_350,
    authentication: {
      x509: {},
      webhook: { enabled: false, cacheTTL: '1m0s' },
      anonymous: { enabled: true },
    },
  });
});

test('the period of reports follows the period of updates, unless it is given', () => {
  expect(shown({ nodeStatusUpdateFrequency: 7_000 }).nodeStatusReportFrequency).toBe('7s');
  const given = { nodeStatusUpdateFrequency: '7s', nodeStatusReportFrequency: '1m' };
  expect(shown({}, given).nodeStatusReportFrequency).toBe('1m0s');
});

test('shows no password of the URL of manifests, and no value of its headers', () => {
  const secrets = {
    staticPodURL: 'http://user:password@host/pods?token=abc',
    staticPodURLHeader: { Authorization: ['Bearer abc'] },
  };
  const configuration = shown({}, secrets);
  expect(configuration).toMatchObject({
    staticPodURL: 'http://host/pods?…',
    staticPodURLHeader: { Authorization: ['<masked>'] },
  });
  expect(JSON.stringify(configuration)).not.toMatch(/password|abc/);
});
