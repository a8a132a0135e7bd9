import { beforeEach, expect, test } from '@jest/globals';
import { ImageMetrics } from '../../../../src/agent/server/metrics/image-metrics.ts';
import { samplesNamed } from './samples.ts';

let nowMs: number;
let metrics: ImageMetrics;
beforeEach(() => {
  nowMs = 0;
  metrics = new ImageMetrics(() => nowMs, { podPull: () => () => undefined });
});
const named = (name: string) => samplesNamed(metrics.metrics(), name);

test('credential plugins are timed, also those that fail', () => {
  const ends = [metrics.credentialPlugin('ecr'), metrics.credentialPlugin('ecr')];
  nowMs = 500;
  ends[0]?.('success');
  ends[1]?.('failure');
  expect(named('kubelet_credential_provider_plugin')).toEqual({
    'kubelet_credential_provider_plugin_duration_sum{plugin_name="ecr"}': '1',
    'kubelet_credential_provider_plugin_duration_count{plugin_name="ecr"}': '2',
    'kubelet_credential_provider_plugin_errors_total{plugin_name="ecr"}': '1',
  });
});

test('their configuration has a hash, where there is one', () => {
  expect(named('kubelet_credential_provider_config')).toEqual({});
  metrics.credentialProviders('sha256:abc');
  expect(named('kubelet_credential_provider_config')).toEqual({
    'kubelet_credential_provider_config_info{hash="sha256:abc"}': '1',
  });
});

test('checks of who may use an image are counted, and so are the records on disk', () => {
  metrics.pullChecked('mustAuthenticate');
  metrics.pullRecords(1, 5);
  metrics.pullRecords(0, 6);
  expect(named('kubelet_imagemanager')).toEqual({
    'kubelet_imagemanager_image_mustpull_checks_total{result="mustAuthenticate"}': '1',
    kubelet_imagemanager_ondisk_pullintents: '0',
    kubelet_imagemanager_ondisk_pulledrecords: '6',
  });
});
