import { describe, expect, test } from '@jest/globals';
import {
  nodeMetrics,
  type NodeMetricsApi,
  workerMetrics,
  type WorkerMetricsApi,
} from '../../../../src/agent/server/metrics/node-metrics.ts';
import type { ClaimedVolume } from '../../../../src/agent/policies/volumes/claimed-volume.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import type { ServedPod } from '../../../../src/types/served-pod.ts';
import { testPod } from '../../../support/pods.ts';
import { runtimePodStatus } from '../../../support/runtime-pod-status.ts';
import { NO_WORKERS, samplesNamed } from './samples.ts';

const NOW = Date.UTC(2030, 0, 1);
const NONE = { client: undefined, serving: undefined };

function read(api: Partial<NodeMetricsApi>, name: string) {
  const whole: NodeMetricsApi = {
    nodeName: 'node-1',
    agentCounters: undefined,
    pods: () => [],
    runtimePods: () => [],
    certificateEnds: () => NONE,
    metricsProvider: 'cadvisor',
    pluginSockets: () => [],
    claimedVolume: () => undefined,
    ...NO_WORKERS,
    ...api,
  };
  return samplesNamed(nodeMetrics(whole, NOW), name);
}

const served = (pod: Pod, state = 'Syncing.Settled', phase = 'Running'): ServedPod => ({
  pod,
  state,
  status: { phase },
});

test('the name of the node is served', () => {
  expect(read({}, 'kubelet_node_name')).toEqual({ 'kubelet_node_name{node="node-1"}': '1' });
});

test('pods with a sandbox that runs are counted, and containers by state', () => {
  const container = (id: string, state: 'running' | 'exited') => ({ id, name: id, state });
  const runtimePods = () => [
    runtimePodStatus({
      sandboxes: [{ id: 's' }],
      containers: [container('a', 'running'), container('b', 'running')],
    }),
    runtimePodStatus({ sandboxes: [{ id: 't', ready: false }], containers: [container('c', 'exited')] }),
  ];
  expect(read({ runtimePods }, 'kubelet_running')).toEqual({
    kubelet_running_pods: '1',
    'kubelet_running_containers{container_state="exited"}': '1',
    'kubelet_running_containers{container_state="running"}': '2',
  });
});

test('pods are counted by where they come from, and those that have not ended', () => {
  const statics = testPod({ name: 's', annotations: { 'kubernetes.io/config.source': 'file' } });
  const api = testPod({ name: 'a', annotations: { 'kubernetes.io/config.source': 'api' } });
  const ended = testPod({ name: 'e', annotations: { 'kubernetes.io/config.source': 'api' } });
  const pods = () => [served(statics), served(api), served(ended, 'Terminated.Finished', 'Succeeded')];
  expect({ ...read({ pods }, 'kubelet_desired'), ...read({ pods }, 'kubelet_active') }).toEqual({
    'kubelet_desired_pods{static=""}': '2',
    'kubelet_desired_pods{static="true"}': '1',
    'kubelet_active_pods{static=""}': '1',
    'kubelet_active_pods{static="true"}': '1',
  });
});

test('volumes are counted by kind: those that are wanted, and those of pods with a sandbox', () => {
  const withVolumes = (pod: Pod): Pod => {
    const volumes = [
      { name: 'a', emptyDir: {} },
      { name: 'b', secret: { secretName: 's' } },
      { name: 'c', nfs: { path: '/', server: 's' } },
      { name: 'd', csi: { driver: 'disk.csi.test' } },
      { name: 'e', persistentVolumeClaim: { claimName: 'known' } },
      { name: 'f', ephemeral: {} },
      { name: 'unused', emptyDir: {} },
    ];
    const volumeMounts = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ name, mountPath: `/${name}` }));
    return { ...pod, spec: { ...pod.spec, volumes, containers: [{ name: 'main', volumeMounts }] } };
  };
  const pods = () =>
    [withVolumes(testPod({ name: 'a', uid: 'uid' })), withVolumes(testPod({ name: 'b' }))].map((pod) =>
      served(pod),
    );
  const runtimePods = () => [runtimePodStatus({ sandboxes: [{ id: 's' }] })];
  const labels = (plugin: string, state: string) =>
    `{plugin_name="kubernetes.io/${plugin}",state="${state}"}`;
  const source = { kind: 'csi', driver: 'claimed.csi.test' };
  const claimedVolume = (uid: string, name: string) =>
    uid === 'uid' && name === 'e' ? ({ name: 'pv-1', source } as ClaimedVolume) : undefined;
  expect(read({ pods, runtimePods, claimedVolume }, 'volume_manager')).toEqual({
    [`volume_manager_total_volumes${labels('csi:claimed.csi.test', 'actual_state_of_world')}`]: '1',
    [`volume_manager_total_volumes${labels('csi:claimed.csi.test', 'desired_state_of_world')}`]: '1',
    [`volume_manager_total_volumes${labels('csi:disk.csi.test', 'actual_state_of_world')}`]: '1',
    [`volume_manager_total_volumes${labels('csi:disk.csi.test', 'desired_state_of_world')}`]: '2',
    [`volume_manager_total_volumes${labels('empty-dir', 'actual_state_of_world')}`]: '1',
    [`volume_manager_total_volumes${labels('secret', 'actual_state_of_world')}`]: '1',
    [`volume_manager_total_volumes${labels('empty-dir', 'desired_state_of_world')}`]: '2',
    [`volume_manager_total_volumes${labels('secret', 'desired_state_of_world')}`]: '2',
  });
});

describe('certificates', () => {
  test('of the agent have the seconds that they are still valid', () => {
    const ends = { client: NOW + 90_500, serving: NOW - 1000 };
    expect(read({ certificateEnds: () => ends }, 'kubelet_certificate_manager')).toEqual({
      kubelet_certificate_manager_client_ttl_seconds: '90',
      kubelet_certificate_manager_server_ttl_seconds: '-1',
    });
  });

  test('that do not exist are valid for ever', () => {
    expect(read({}, 'kubelet_certificate_manager')).toEqual({
      kubelet_certificate_manager_client_ttl_seconds: '+Inf',
      kubelet_certificate_manager_server_ttl_seconds: '+Inf',
    });
  });
});

test('pods are counted by the state of their chart, and effects that are under way', () => {
  const pods = () => [
    served(testPod({ name: 'a' })),
    served(testPod({ name: 'b' })),
    served(testPod({ name: 'c' }), 'Terminating.Stopping'),
  ];
  const effectsInFlight = new Map([['stop', 1]] as const);
  const counted = { pods: { effectsInFlight }, metrics: () => [], probeMetrics: () => [] };
  expect(read({ pods, agentCounters: counted }, 'statelet_')).toEqual({
    'statelet_pods{state="Syncing.Settled"}': '2',
    'statelet_pods{state="Terminating.Stopping"}': '1',
    'statelet_pod_effects_in_flight{effect="stop"}': '1',
  });
});

test('the source of the figures of containers is served', () => {
  expect(read({ metricsProvider: 'cri' }, 'kubelet_metrics_provider')).toEqual({
    'kubelet_metrics_provider{provider="cri"}': '1',
  });
});

test('sockets of plugins are counted, and those that are registered are counted again', () => {
  const pluginSockets = () => [
    { path: '/plugins/a.sock', isRegistered: true },
    { path: '/plugins/"b".sock', isRegistered: false },
  ];
  expect(read({ pluginSockets }, 'plugin_manager')).toEqual({
    'plugin_manager_total_plugins{socket_path="/plugins/a.sock",state="actual_state_of_world"}': '1',
    'plugin_manager_total_plugins{socket_path="/plugins/a.sock",state="desired_state_of_world"}': '1',
    'plugin_manager_total_plugins{socket_path="/plugins/\\"b\\".sock",state="desired_state_of_world"}': '1',
  });
});

const readWorkers = (api: Partial<WorkerMetricsApi>, name: string) =>
  samplesNamed(workerMetrics({ ...NO_WORKERS, ...api }), name);

test('the actors of pods are counted by the part of their life and by who knows them; kinds without any are 0', () => {
  const workers = () =>
    [
      { lifecycle: 'sync', config: 'desired', isStatic: true },
      { lifecycle: 'sync', config: 'desired', isStatic: true },
      { lifecycle: 'terminating', config: 'orphan', isStatic: false },
      { lifecycle: 'terminated', config: 'runtime_only', isStatic: false },
    ] as const;
  const samples = Object.entries(readWorkers({ workers }, 'kubelet_working_pods'));
  expect(samples).toHaveLength(15);
  expect(Object.fromEntries(samples.filter(([, count]) => count !== '0'))).toEqual({
    'kubelet_working_pods{config="desired",lifecycle="sync",static="true"}': '2',
    'kubelet_working_pods{config="orphan",lifecycle="terminating",static=""}': '1',
    'kubelet_working_pods{config="runtime_only",lifecycle="terminated",static="unknown"}': '1',
  });
});

test('mirror pods and ephemeral containers are counted', () => {
  const ephemeralContainers = [{ name: 'debug' }, { name: 'shell' }];
  const plain = testPod();
  const desiredPods = () => [plain, { ...plain, spec: { ...plain.spec, ephemeralContainers } }];
  expect(readWorkers({ mirrorPodCount: () => 3 }, 'kubelet_mirror')).toEqual({
    kubelet_mirror_pods: '3',
  });
  expect(readWorkers({ desiredPods }, 'kubelet_managed')).toEqual({
    kubelet_managed_ephemeral_containers: '2',
  });
});

test('the last relist is served in whole seconds, and the version of cgroups, where there are any', () => {
  expect({
    ...readWorkers({}, 'kubelet_pleg'),
    ...readWorkers({}, 'kubelet_cgroup'),
  }).toEqual({});
  const known: Partial<WorkerMetricsApi> = { lastRelistMs: () => 1_700_000_000_900, cgroupVersion: () => 2 };
  expect({
    ...readWorkers(known, 'kubelet_pleg'),
    ...readWorkers(known, 'kubelet_cgroup'),
  }).toEqual({
    kubelet_pleg_last_seen_seconds: '1.7e+09',
    kubelet_cgroup_version: '2',
  });
});
