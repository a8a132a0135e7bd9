import { beforeEach, describe, expect, test } from '@jest/globals';
import { AgentMetrics } from '../../../../src/agent/server/metrics/agent-metrics.ts';
import type { ProbedContainer } from '../../../../src/types/measurements.ts';
import { samplesNamed, samplesOf } from './samples.ts';

let nowMs: number;
let metrics: AgentMetrics;
beforeEach(() => {
  nowMs = 0;
  metrics = new AgentMetrics(() => nowMs);
});
const named = (name: string) => samplesNamed(metrics.metrics(), name);

test('at first nothing was counted, and no certificate has failed to be renewed', () => {
  expect(samplesOf(metrics.metrics())).toEqual({
    ...samplesOf(metrics.placement.metrics()),
    kubelet_evented_pleg_connection_success_count: '0',
    kubelet_evented_pleg_connection_error_count: '0',
    kubelet_image_volume_requested_total: '0',
    kubelet_image_volume_mounted_succeed_total: '0',
    kubelet_image_volume_mounted_errors_total: '0',
    kubelet_imagemanager_ondisk_pullintents: '0',
    kubelet_imagemanager_ondisk_pulledrecords: '0',
    kubelet_lifecycle_handler_http_fallbacks_total: '0',
    kubelet_sleep_action_terminated_early_total: '0',
    kubelet_orphan_pod_cleaned_volumes: '0',
    kubelet_orphan_pod_cleaned_volumes_errors: '0',
    kubelet_orphaned_runtime_pods_total: '0',
    'kubelet_restarted_pods_total{static=""}': '0',
    'kubelet_restarted_pods_total{static="true"}': '0',
    kubelet_started_pods_total: '0',
    kubelet_started_pods_errors_total: '0',
    kubelet_started_user_namespaced_pods_total: '0',
    kubelet_started_user_namespaced_pods_errors_total: '0',
    kubelet_certificate_manager_client_expiration_renew_errors: '0',
    kubelet_server_expiration_renew_errors: '0',
  });
});

test('operations of the runtime are counted when they end, with their errors', () => {
  const ends = [metrics.runtimeOperation('run_podsandbox'), metrics.runtimeOperation('run_podsandbox')];
  expect(named('kubelet_runtime')).toEqual({});
  nowMs = 250;
  ends[0]?.('success');
  nowMs = 1000;
  ends[1]?.('failure');
  expect(named('kubelet_runtime')).toEqual({
    'kubelet_runtime_operations_total{operation_type="run_podsandbox"}': '2',
    'kubelet_runtime_operations_errors_total{operation_type="run_podsandbox"}': '1',
    'kubelet_runtime_operations_duration_seconds_sum{operation_type="run_podsandbox"}': '1.25',
    'kubelet_runtime_operations_duration_seconds_count{operation_type="run_podsandbox"}': '2',
  });
});

test('the memory that the kernel keeps for pods is served once it is known', () => {
  expect(named('kubelet_memory_qos')).toEqual({});
  metrics.memoryKept({ guaranteedBytes: 1024n, burstableBytes: 0n });
  expect(named('kubelet_memory_qos')).toEqual({
    kubelet_memory_qos_node_memory_min_bytes: '1024',
    kubelet_memory_qos_node_memory_low_bytes: '0',
  });
});

test('operations on cgroups are timed', () => {
  const end = metrics.cgroupOperation('create');
  nowMs = 4;
  end();
  expect(named('kubelet_cgroup_manager_duration_seconds_sum')).toEqual({
    'kubelet_cgroup_manager_duration_seconds_sum{operation_type="create"}': '0.004',
  });
});

test('volumes that are mounted and unmounted are timed, by kind and outcome', () => {
  metrics.volumeOperation('volume_mount', 'kubernetes.io/secret')('success');
  metrics.volumeOperation('volume_unmount', 'kubernetes.io/secret')('failure');
  const labels = (operation: string, status: string) =>
    `{migrated="false",operation_name="${operation}",status="${status}",volume_plugin="kubernetes.io/secret"}`;
  expect(named('storage_operation_duration_seconds_count')).toEqual({
    [`storage_operation_duration_seconds_count${labels('volume_mount', 'success')}`]: '1',
    [`storage_operation_duration_seconds_count${labels('volume_unmount', 'fail-unknown')}`]: '1',
  });
});

test('calls of CSI drivers are timed, by driver, call and answer', () => {
  metrics.csi.operation('disk.csi.test', '/csi.v1.Node/NodeStageVolume')('Unavailable');
  const labels =
    'driver_name="disk.csi.test",grpc_status_code="Unavailable",method_name="/csi.v1.Node/NodeStageVolume",migrated="false"';
  const found = named('csi_operations_seconds_count');
  expect(
    Object.keys(found).map((key) =>
      key
        .replace(/.*\{|\}/g, '')
        .split(',')
        .toSorted()
        .join(),
    ),
  ).toEqual([labels]);
});

test('requests to the API server are counted by their answers', () => {
  metrics.apiRequest('GET')('server:6443', 404);
  metrics.apiRequest('POST')('server:6443');
  expect(named('rest_client_requests_total')).toEqual({
    'rest_client_requests_total{code="404",host="server:6443",method="GET"}': '1',
    'rest_client_requests_total{code="<error>",host="server:6443",method="POST"}': '1',
  });
  expect(named('rest_client_request_duration_seconds_count')).toEqual({
    'rest_client_request_duration_seconds_count{host="server:6443",verb="GET"}': '1',
    'rest_client_request_duration_seconds_count{host="server:6443",verb="POST"}': '1',
  });
});

test('relists are timed, and the time from the beginning of one to that of the next', () => {
  const end = metrics.pleg.relist();
  nowMs = 100;
  end();
  nowMs = 10_000;
  metrics.pleg.relist();
  expect(named('kubelet_pleg')).toEqual({
    kubelet_pleg_relist_duration_seconds_sum: '0.1',
    kubelet_pleg_relist_duration_seconds_count: '1',
    kubelet_pleg_relist_interval_seconds_sum: '10',
    kubelet_pleg_relist_interval_seconds_count: '1',
  });
});

test('evictions are counted by signal, and failed renewals by certificate', () => {
  metrics.evicted('memory.available');
  metrics.evicted('memory.available');
  metrics.renewalFailed('serving');
  expect(named('kubelet_evictions')).toEqual({
    'kubelet_evictions{eviction_signal="memory.available"}': '2',
  });
  expect(named('kubelet_server')).toEqual({ kubelet_server_expiration_renew_errors: '1' });
  expect(named('kubelet_certificate')).toEqual({
    kubelet_certificate_manager_client_expiration_renew_errors: '0',
  });
});

test('the creation of sandboxes is timed by the handler of their RuntimeClass, with its errors', () => {
  const ends = [metrics.sandboxRun(''), metrics.sandboxRun('kata')];
  nowMs = 500;
  ends[0]?.('success');
  ends[1]?.('failure');
  expect(named('kubelet_run_podsandbox')).toEqual({
    'kubelet_run_podsandbox_duration_seconds_sum{runtime_handler=""}': '0.5',
    'kubelet_run_podsandbox_duration_seconds_count{runtime_handler=""}': '1',
    'kubelet_run_podsandbox_duration_seconds_sum{runtime_handler="kata"}': '0.5',
    'kubelet_run_podsandbox_duration_seconds_count{runtime_handler="kata"}': '1',
    'kubelet_run_podsandbox_errors_total{runtime_handler="kata"}': '1',
  });
});

test('pulls of images are timed by the size of the image, and removed images are counted by the reason', () => {
  metrics.images.imagePulled(0, 1000);
  metrics.images.imagePulled(10 * 1024 ** 2, 2000);
  metrics.images.imagePulled(100 * 1024 ** 3, 4000);
  metrics.images.imageCollected('age');
  expect(named('kubelet_image_pull_duration_seconds_sum')).toEqual({
    'kubelet_image_pull_duration_seconds_sum{image_size_in_bytes="0-10MB"}': '1',
    'kubelet_image_pull_duration_seconds_sum{image_size_in_bytes="10MB-100MB"}': '2',
    'kubelet_image_pull_duration_seconds_sum{image_size_in_bytes="GT100GB"}': '4',
  });
  expect(named('kubelet_image_garbage')).toEqual({
    'kubelet_image_garbage_collected_total{reason="age"}': '1',
  });
});

test('the age of the figures by which pods are ranked for eviction is served by signal', () => {
  metrics.evictionStatsAge('memory.available', 1500);
  expect(named('kubelet_eviction_stats_age_seconds_sum')).toEqual({
    'kubelet_eviction_stats_age_seconds_sum{eviction_signal="memory.available"}': '1.5',
  });
});

test("the last pass over eviction plugins is served with Katalyst's names: by type, and each victim", () => {
  expect(named('victims_cnt')).toEqual({});
  metrics.plugins.pods(5, 3);
  const reclaimed = { qos: 'reclaimed_cores', priority: '5' };
  metrics.plugins.decided([{ plugin: 'p', namespace: 'default', name: 'old', ...reclaimed }], []);
  metrics.plugins.decided(
    [
      { plugin: 'p', namespace: 'default', name: 'web', ...reclaimed },
      { plugin: 'q', namespace: 'batch', name: 'job', qos: 'unknown', priority: 'empty' },
    ],
    [
      {
        name: 'p',
        condition_name: 'Hot',
        condition_type: 'NODE_CONDITION',
        effects: 'NoSchedule',
        dryrun: 'false',
      },
    ],
  );
  expect(named('request_condition_cnt')).toEqual({
    'request_condition_cnt{condition_name="Hot",condition_type="NODE_CONDITION",dryrun="false",effects="NoSchedule",name="p"}':
      '1',
  });
  expect({ ...named('running_pod'), ...named('candidate_pod'), ...named('victims_cnt') }).toEqual({
    running_pod_cnt: '5',
    candidate_pod_cnt: '3',
    'victims_cnt{type="total"}': '2',
    'victims_cnt{name="p",priority="5",qos="reclaimed_cores",type="plugin",victim_name="web",victim_ns="default"}':
      '1',
    'victims_cnt{name="q",priority="empty",qos="unknown",type="plugin",victim_name="job",victim_ns="batch"}':
      '1',
  });
});

test('pods that got a notice in the last pass over eviction plugins are counted, and those for which it failed', () => {
  const shy = { pod_ns: 'default', pod_name: 'shy', plugin_name: 'p' };
  metrics.plugins.notified([{ state: 'succeeded', ...shy }]);
  metrics.plugins.notified([{ state: 'failed', ...shy }]);
  expect(named('notify_pod')).toEqual({
    'notify_pod{plugin_name="p",pod_name="shy",pod_ns="default",state="failed"}': '1',
  });
});

test('taints of the CustomNodeResource are served as they were last compared', () => {
  metrics.plugins.tainted([{ qos_level: 'reclaimed_cores', key: 'old', effect: 'NoSchedule' }]);
  metrics.plugins.tainted([
    { qos_level: 'reclaimed_cores', key: 'katalyst.kubewharf.io/Hot', effect: 'NoExecute' },
  ]);
  expect(named('cnr_taint')).toEqual({
    'cnr_taint{effect="NoExecute",key="katalyst.kubewharf.io/Hot",qos_level="reclaimed_cores"}': '1',
  });
});

test('calls of eviction plugins are counted by outcome, and so are pods that end because of them, those of a dry run apart', () => {
  metrics.plugins.answered('p', 'GetEvictPods', 'success');
  metrics.plugins.answered('p', 'GetEvictPods', 'success');
  metrics.plugins.answered('p', 'ThresholdMet', 'failure');
  metrics.plugins.validated({ name: 'p', strict: 'true', valid: 'true', reason: '', user: 'u' });
  metrics.plugins.validated({
    name: 'x',
    strict: 'true',
    valid: 'false',
    reason: 'no_permission',
    user: 'u',
  });
  metrics.plugins.victim('p', false);
  metrics.plugins.victim('trial', true);
  expect(named('statelet_eviction_plugin_')).toEqual({
    'statelet_eviction_plugin_answers_total{call="GetEvictPods",plugin="p",result="success"}': '2',
    'statelet_eviction_plugin_answers_total{call="ThresholdMet",plugin="p",result="failure"}': '1',
    'statelet_eviction_plugin_victims_total{plugin="p"}': '1',
    'statelet_eviction_plugin_dry_run_victims_total{plugin="trial"}': '1',
  });
  expect(named('eviction_plugin_validate')).toEqual({
    'eviction_plugin_validate{name="p",reason="",strict="true",user="u",valid="true"}': '1',
    'eviction_plugin_validate{name="",reason="no_permission",strict="true",user="u",valid="false"}': '1',
  });
});

describe('probes', () => {
  const READINESS: ProbedContainer = {
    namespace: 'ns',
    pod: 'web',
    podUID: 'u',
    container: 'c',
    probe: 'readiness',
  };
  const LABELS = 'container="c",namespace="ns",pod="web"';
  const count = (result: string, type = 'Readiness') =>
    `prober_probe_total{${LABELS},pod_uid="u",probe_type="${type}",result="${result}"}`;

  test('are counted by result, and those that succeed are timed', () => {
    const end = metrics.probe(READINESS);
    nowMs = 500;
    end('Success');
    metrics.probe(READINESS)('Failure');
    metrics.probe({ ...READINESS, probe: 'liveness' })('Failure');
    expect(samplesOf(metrics.probeMetrics())).toEqual({
      [count('successful')]: '1',
      [count('failed')]: '1',
      [count('failed', 'Liveness')]: '1',
      [`prober_probe_duration_seconds_sum{${LABELS},probe_type="Readiness"}`]: '0.5',
      [`prober_probe_duration_seconds_count{${LABELS},probe_type="Readiness"}`]: '1',
    });
    expect(named('prober')).toEqual({});
  });

  test('without a result are not counted', () => {
    metrics.probe(READINESS)();
    expect(samplesOf(metrics.probeMetrics())).toEqual({});
  });

  test('that are not run any more have no metrics', () => {
    metrics.probe(READINESS)('Success');
    metrics.probe(READINESS)('Failure');
    metrics.probe({ ...READINESS, probe: 'startup' })('Failure');
    metrics.probeRemoved(READINESS);
    expect(samplesOf(metrics.probeMetrics())).toEqual({ [count('failed', 'Startup')]: '1' });
  });
});
