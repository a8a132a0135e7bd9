import { expect, test } from '@jest/globals';
import { featureConflicts } from '../../../src/policies/features/feature-conflicts.ts';

const NONE = {
  serverTLSBootstrap: false,
  cpuCFSQuotaPeriod: false,
  shutdownGracePeriod: false,
  shutdownGracePeriodCriticalPods: false,
  shutdownGracePeriodByPodPriority: false,
  'crashLoopBackOff.maxContainerRestartPeriod': false,
  imagePullCredentialsVerificationPolicy: false,
  preloadedImagesVerificationAllowlist: false,
};

test('a field that is given although the gate of its feature is off is named with the gate', () => {
  const gates = { RotateKubeletServerCertificate: false, KubeletCrashLoopBackOffMax: false };
  expect(featureConflicts(gates, { ...NONE, serverTLSBootstrap: true, shutdownGracePeriod: true })).toEqual([
    'serverTLSBootstrap: needs the feature gate RotateKubeletServerCertificate, which is off',
  ]);
});

test('fields that ask for nothing may stay when their gate is off', () => {
  expect(featureConflicts({ AllBeta: false, CustomCPUCFSQuotaPeriod: false }, NONE)).toEqual([]);
});

test('AllBeta switches off what all beta fields need', () => {
  const all = Object.fromEntries(Object.keys(NONE).map((name) => [name, true])) as typeof NONE;
  expect(featureConflicts({ AllBeta: false }, all)).toHaveLength(7);
  expect(featureConflicts({}, all)).toEqual([]);
});
