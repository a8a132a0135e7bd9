import { describe, expect, test } from '@jest/globals';
import {
  EFFECTIVE_GATES,
  featureConflicts,
  featureGateProblems,
  featureGateWarnings,
  isEnabled,
} from '../../../../src/agent/policies/node/feature-gates.ts';
import { knownFeatureGates } from '../../../../src/agent/policies/node/known-feature-gates.ts';

describe('a gate', () => {
  test('that is not given has its default', () => {
    for (const name of EFFECTIVE_GATES)
      expect(isEnabled(name, {})).toBe(knownFeatureGates().get(name)?.byDefault);
  });

  test('has what is given, before what its stage is set to', () => {
    expect(isEnabled('ComponentFlagz', { ComponentFlagz: false, AllBeta: true })).toBe(false);
    expect(isEnabled('ComponentFlagz', { AllBeta: false })).toBe(false);
    expect(isEnabled('ReduceDefaultCrashLoopBackOffDecay', { AllAlpha: true })).toBe(true);
    expect(isEnabled('ReduceDefaultCrashLoopBackOffDecay', { AllBeta: true })).toBe(false);
    expect(isEnabled('CustomCPUCFSQuotaPeriod', { AllAlpha: false, AllBeta: false })).toBe(true);
  });
});

describe('gates are wrong, in the words of the kubelet', () => {
  test('where they are unknown; a similar known name is suggested', () => {
    expect(featureGateProblems({ Foo: true, memoryqos: true })).toEqual([
      'unrecognized feature gate: Foo',
      'unrecognized feature gate: memoryqos; did you mean "MemoryQoS"?',
    ]);
  });

  test('where they are locked and set to another value; their own value is accepted', () => {
    expect(featureGateProblems({ NodeSwap: false })).toEqual([
      'cannot set feature gate NodeSwap to false, feature is locked to true',
    ]);
    expect(featureGateProblems({ NodeSwap: true, GitRepoVolumeDriver: false })).toEqual([]);
  });

  test('where an enabled one needs another that is disabled', () => {
    expect(featureGateProblems({ PodLevelResources: false })).toEqual([
      'InPlacePodLevelResourcesVerticalScaling is enabled, but depends on features that are disabled: [PodLevelResources]',
    ]);
    expect(
      featureGateProblems({ PodLevelResources: false, InPlacePodLevelResourcesVerticalScaling: false }),
    ).toEqual([]);
    expect(featureGateProblems({ AllBeta: false })).toEqual([]);
    expect(featureGateProblems({ AllAlpha: true, AllBeta: false })).toHaveLength(3);
  });
});

describe('a warning', () => {
  test('names gates that are set to another value than their default and change nothing here', () => {
    const gates = { EventedPLEG: true, WatchList: false, ComponentFlagz: false, SidecarContainers: true };
    expect(featureGateWarnings(gates)).toEqual([
      'featureGates: known, but without effect here: EventedPLEG, WatchList',
    ]);
    expect(featureGateWarnings({ EventedPLEG: false, AllAlpha: false })).toEqual([]);
  });

  test('says what AllAlpha and AllBeta change here', () => {
    const [alpha = '', ...others] = featureGateWarnings({ AllAlpha: true });
    expect(alpha).toMatch(
      /^featureGates: AllAlpha sets 52 gates, of which only [\w, ]*ReduceDefaultCrashLoopBackOffDecay[\w, ]* has an effect here$/u,
    );
    expect(others).toEqual([]);
    expect(featureGateWarnings({ AllBeta: true })).toEqual([
      'featureGates: AllBeta sets 11 gates, of which no gate has an effect here',
    ]);
  });
});

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
