import { expect, test } from '@jest/globals';
import { logMetric, volumeMetrics } from '../../../src/server/metrics/volume-metrics.ts';
import type { ClaimStats } from '../../../src/types/stats.ts';
import { runtimePodStatus } from '../../support/runtime-pod-status.ts';
import { samplesNamed, samplesOf } from './samples.ts';

const stats = (name: string, claim: string, capacityBytes = 2): ClaimStats => ({
  time: '2030-01-01T00:00:00.000Z',
  availableBytes: 1,
  capacityBytes,
  usedBytes: 3,
  inodesFree: 4,
  inodes: 5,
  inodesUsed: 6,
  name,
  pvcRef: { name: claim, namespace: 'shop' },
});

test('a claim has its six figures', () => {
  const labels = '{namespace="shop",persistentvolumeclaim="orders"}';
  expect(samplesNamed(volumeMetrics([stats('data', 'orders')]), 'kubelet_volume_stats')).toEqual({
    [`kubelet_volume_stats_capacity_bytes${labels}`]: '2',
    [`kubelet_volume_stats_available_bytes${labels}`]: '1',
    [`kubelet_volume_stats_used_bytes${labels}`]: '3',
    [`kubelet_volume_stats_inodes_free${labels}`]: '4',
    [`kubelet_volume_stats_inodes${labels}`]: '5',
    [`kubelet_volume_stats_inodes_used${labels}`]: '6',
  });
});

test('a claim that several pods use is shown once, with the figures that come first', () => {
  const metrics = volumeMetrics([stats('a', 'orders', 7), stats('b', 'orders', 8), stats('c', 'other', 9)]);
  expect(samplesNamed(metrics, 'kubelet_volume_stats_capacity_bytes')).toEqual({
    'kubelet_volume_stats_capacity_bytes{namespace="shop",persistentvolumeclaim="orders"}': '7',
    'kubelet_volume_stats_capacity_bytes{namespace="shop",persistentvolumeclaim="other"}': '9',
  });
});

test('claims are in the order of their names', () => {
  const [first] = volumeMetrics([stats('a', 'two'), stats('b', 'one')]);
  expect(first?.samples.join('')).toMatch(/"one".*\n.*"two"/);
});

test('the logs of a container have what they use of the disk', () => {
  const pod = { ...runtimePodStatus({}), uid: 'u', namespace: 'shop', name: 'web' };
  const used = new Map([['main', { usedBytes: 4096, inodesUsed: 3 }]]);
  expect(samplesOf([logMetric([{ pod, used }])])).toEqual({
    'kubelet_container_log_filesystem_used_bytes{container="main",namespace="shop",pod="web",uid="u"}':
      '4096',
  });
});
