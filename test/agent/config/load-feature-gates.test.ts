import { describe, expect, test } from '@jest/globals';
import { resolveConfig } from '../../../src/agent/config/config.ts';
import { FEATURE_GATES } from '../../../src/agent/config/load-feature-gates.ts';
import { parseSetting, type Setting } from '../../../src/agent/config/setting.ts';

const parse = (text: string, previous?: unknown) => parseSetting(FEATURE_GATES as Setting, text, previous);

describe('--feature-gates', () => {
  test('is read as the kubelet reads it, given once or several times', () => {
    expect(parse('EventedPLEG=true, WatchList = F,')).toEqual({ EventedPLEG: true, WatchList: false });
    expect(parse('WatchList=1', { WatchList: false, EventedPLEG: true })).toEqual({
      WatchList: true,
      EventedPLEG: true,
    });
    expect(parse('')).toEqual({});
  });

  test.each(['EventedPLEG', 'EventedPLEG=maybe', 'EventedPLEG='])('%s is no list of gates', (text) => {
    expect(() => parse(text)).toThrow('It must be GATE=true or GATE=false, with commas between.');
  });
});

describe('the gates of a node', () => {
  test('are those of flag and file; the flag wins for the gates that it names', () => {
    const flags = { featureGates: { WatchList: true } };
    const file = { featureGates: { WatchList: false, EventedPLEG: true } };
    expect(resolveConfig(flags, file).featureGates).toEqual({ WatchList: true, EventedPLEG: true });
  });

  test('are an error that says where the wrong one was given', () => {
    expect(() => resolveConfig({ featureGates: { Foo: true } })).toThrow(
      /^--feature-gates: unrecognized feature gate: Foo$/u,
    );
    expect(() => resolveConfig({ config: 'kubelet.yaml' }, { featureGates: { NodeSwap: false } })).toThrow(
      /^kubelet\.yaml: featureGates: cannot set feature gate NodeSwap to false, feature is locked to true$/u,
    );
  });

  test('decide which fields may be given', () => {
    const featureGates = { KubeletCrashLoopBackOffMax: false };
    const crashLoopBackOff = { maxContainerRestartPeriod: '30s' };
    expect(() => resolveConfig({ config: 'kubelet.yaml' }, { featureGates, crashLoopBackOff })).toThrow(
      /^kubelet\.yaml: crashLoopBackOff\.maxContainerRestartPeriod: needs the feature gate KubeletCrashLoopBackOffMax, which is off$/u,
    );
    expect(() =>
      resolveConfig({ config: 'kubelet.yaml', rotateServerCertificates: true, kubeconfig: 'k' }, {
        featureGates: { RotateKubeletServerCertificate: false },
        serverTLSBootstrap: true,
      } as object),
    ).toThrow(/serverTLSBootstrap: needs the feature gate RotateKubeletServerCertificate/u);
  });

  test('shorten the delays of CrashLoopBackOff', () => {
    const delays = (featureGates: Record<string, boolean>) => {
      const { initialContainerRestartPeriodMs, maxContainerRestartPeriodMs } = resolveConfig({
        featureGates,
      });
      return [initialContainerRestartPeriodMs, maxContainerRestartPeriodMs];
    };
    expect(delays({})).toEqual([10_000, 300_000]);
    expect(delays({ ReduceDefaultCrashLoopBackOffDecay: true })).toEqual([1_000, 300_000]);
    expect(delays({ ReduceDefaultCrashLoopBackOffDecay: true, KubeletCrashLoopBackOffMax: false })).toEqual([
      1_000, 60_000,
    ]);
  });

  test('switch MemoryQoS on, by flag, field and AllAlpha', () => {
    const memoryQoS = (flag: Record<string, boolean>, field: Record<string, boolean> = {}) =>
      resolveConfig({ featureGates: flag }, { featureGates: field }).node.memoryQoS;
    expect(memoryQoS({})).toBe(false);
    expect(memoryQoS({ MemoryQoS: true })).toBe(true);
    expect(memoryQoS({}, { MemoryQoS: true })).toBe(true);
    expect(memoryQoS({ MemoryQoS: false }, { MemoryQoS: true })).toBe(false);
    expect(memoryQoS({ AllAlpha: true })).toBe(true);
  });

  test('switch off the check of credentials for images that are present', () => {
    const policy = (featureGates: Record<string, boolean>) =>
      resolveConfig({ featureGates }).node.imagePullCredentialsVerificationPolicy;
    expect(policy({})).toBe('NeverVerifyPreloadedImages');
    expect(policy({ KubeletEnsureSecretPulledImages: false })).toBe('NeverVerify');
  });
});
