import { expect, test } from '@jest/globals';
import { KUBELET_CONFIGURATION_SCHEMA } from '../../../src/agent/config/kubelet-configuration.ts';
import {
  resolveShutdownSettings,
  SHUTDOWN_FIELDS,
} from '../../../src/agent/config/load-shutdown-settings.ts';

test('without fields, a shutdown gives pods no time', () => {
  expect(resolveShutdownSettings({}, 'kubelet.yaml')).toEqual({
    shutdownGracePeriodMs: 0,
    shutdownGracePeriodCriticalPodsMs: 0,
    shutdownGracePeriodByPodPriority: [],
  });
});

test('every field is a field of KubeletConfiguration', () => {
  const known = Object.keys(KUBELET_CONFIGURATION_SCHEMA.properties ?? {});
  expect(known).toEqual(expect.arrayContaining([...SHUTDOWN_FIELDS]));
});

test('periods are read as durations, and missing numbers are 0', () => {
  const file = { shutdownGracePeriod: '1m', shutdownGracePeriodCriticalPods: '20s' };
  expect(resolveShutdownSettings(file, 'kubelet.yaml')).toMatchObject({
    shutdownGracePeriodMs: 60_000,
    shutdownGracePeriodCriticalPodsMs: 20_000,
  });
  const byPriority = { shutdownGracePeriodByPodPriority: [{ shutdownGracePeriodSeconds: 10 }] };
  expect(resolveShutdownSettings(byPriority, 'kubelet.yaml').shutdownGracePeriodByPodPriority).toEqual([
    { priority: 0, shutdownGracePeriodSeconds: 10 },
  ]);
});

test('periods that do not fit together are refused, and the file is named', () => {
  const file = { shutdownGracePeriod: '10s', shutdownGracePeriodCriticalPods: '20s' };
  expect(() => resolveShutdownSettings(file, 'kubelet.yaml')).toThrow(/^kubelet\.yaml: /);
});
