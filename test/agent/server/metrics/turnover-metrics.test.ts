import { beforeEach, expect, test } from '@jest/globals';
import { TurnoverMetrics } from '../../../../src/agent/server/metrics/turnover-metrics.ts';
import { samplesNamed } from './samples.ts';

let turnover: TurnoverMetrics;
beforeEach(() => void (turnover = new TurnoverMetrics()));
const named = (name: string) => samplesNamed(turnover.metrics(), name);

test('preemptions are counted by the resource that the critical pod lacks', () => {
  for (const resource of ['memory', 'memory', 'pods', '']) turnover.preempted(resource);
  expect(named('kubelet_preemptions')).toEqual({
    'kubelet_preemptions{preemption_signal=""}': '1',
    'kubelet_preemptions{preemption_signal="memory"}': '2',
    'kubelet_preemptions{preemption_signal="pods"}': '1',
  });
});

test('rejections are counted by reason', () => {
  for (const reason of ['OutOfcpu', 'OutOfcpu', 'Evicted']) turnover.rejected(reason);
  expect(named('kubelet_admission')).toEqual({
    'kubelet_admission_rejections_total{reason="Evicted"}': '1',
    'kubelet_admission_rejections_total{reason="OutOfcpu"}': '2',
  });
});

test('names that pods could choose make no series of their own', () => {
  for (let index = 0; index < 1000; index++) {
    turnover.preempted(`example.com/device-${index}`);
    turnover.rejected(`OutOfexample.com/device-${index}`);
    turnover.rejected(`Reason${index}`);
  }
  expect({ ...named('kubelet_preemptions'), ...named('kubelet_admission') }).toEqual({
    'kubelet_preemptions{preemption_signal="Other"}': '1000',
    'kubelet_admission_rejections_total{reason="OutOfExtendedResources"}': '1000',
    'kubelet_admission_rejections_total{reason="Other"}': '1000',
  });
});

test('reasons of a runtime that are no words, or too many, make no series of their own', () => {
  turnover.containerTerminated('container', 1, 'not a "word"\u001b[2J');
  const letters = Array.from({ length: 100 }, (_, index) =>
    String.fromCharCode(65 + (index % 26)).repeat(index + 1),
  );
  for (const reason of letters) turnover.containerTerminated('container', 0, reason);
  const series = Object.keys(named('kubelet_terminated'));
  expect(series.length).toBeLessThanOrEqual(52);
  expect(series).toContain(
    'kubelet_terminated_containers_total{container_type="container",exit_code="1",reason="Other"}',
  );
});

test('starts and ends of containers are counted by their type', () => {
  turnover.containerStarted('container');
  turnover.containerStarted('init_container');
  turnover.containerStarted('init_container', 'ErrImagePull');
  turnover.containerTerminated('container', 137, 'OOMKilled');
  expect({ ...named('kubelet_started_containers'), ...named('kubelet_terminated') }).toEqual({
    'kubelet_started_containers_total{container_type="container"}': '1',
    'kubelet_started_containers_total{container_type="init_container"}': '1',
    'kubelet_started_containers_errors_total{code="ErrImagePull",container_type="init_container"}': '1',
    'kubelet_terminated_containers_total{container_type="container",exit_code="137",reason="OOMKilled"}': '1',
  });
});

test('sandboxes are counted when they are begun and when they fail, those with a user namespace once more', () => {
  turnover.podStarted(false);
  turnover.podStarted(true);
  turnover.podStarted(true, true);
  expect(named('kubelet_started')).toEqual({
    kubelet_started_pods_total: '2',
    kubelet_started_pods_errors_total: '1',
    kubelet_started_user_namespaced_pods_total: '1',
    kubelet_started_user_namespaced_pods_errors_total: '1',
  });
});

test('orphans, restarts and the containers of admitted pods are counted, and the last search for orphans is shown', () => {
  turnover.orphaned();
  turnover.restarted(true);
  turnover.admitted(3);
  turnover.swept(5, 1);
  turnover.swept(2, 1);
  expect({
    ...named('kubelet_orphan'),
    ...named('kubelet_restarted'),
    ...named('kubelet_containers'),
  }).toEqual({
    kubelet_orphaned_runtime_pods_total: '1',
    kubelet_orphan_pod_cleaned_volumes: '2',
    kubelet_orphan_pod_cleaned_volumes_errors: '1',
    'kubelet_restarted_pods_total{static=""}': '0',
    'kubelet_restarted_pods_total{static="true"}': '1',
    kubelet_containers_per_pod_count_sum: '3',
    kubelet_containers_per_pod_count_count: '1',
  });
});
