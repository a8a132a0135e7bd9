import { describe, expect, test } from '@jest/globals';
import {
  ALL_EVICTION_SETTINGS,
  resolveEvictionSettings,
} from '../../../src/agent/config/load-eviction-settings.ts';
import { KUBELET_CONFIGURATION_SCHEMA } from '../../../src/agent/config/kubelet-configuration.ts';
import { parseSetting, shownDefault } from '../../../src/agent/config/setting.ts';

const resolve = (flags: Record<string, unknown> = {}, file: Record<string, unknown> = {}) =>
  resolveEvictionSettings({ flags, file, fileName: 'kubelet.yaml' });

const DEFAULT_THRESHOLDS = {
  'memory.available': '100Mi',
  'nodefs.available': '10%',
  'nodefs.inodesFree': '5%',
  'imagefs.available': '15%',
  'imagefs.inodesFree': '5%',
};

test("without flags and file everything is the kubelet's default", () => {
  expect(resolve()).toEqual({
    evictionHard: DEFAULT_THRESHOLDS,
    mergeDefaultEvictionSettings: false,
    evictionSoft: {},
    evictionSoftGracePeriod: {},
    evictionMinimumReclaim: {},
    evictionPSI: {},
    evictionPSIGracePeriod: {},
    evictionMaxPodGracePeriod: 0,
    evictionPressureTransitionPeriodMs: 300_000,
    localStorageCapacityIsolation: true,
  });
});

test('every field of the table is a field of KubeletConfiguration', () => {
  const fields = ALL_EVICTION_SETTINGS.flatMap(({ field }) => field ?? []);
  expect(Object.keys(KUBELET_CONFIGURATION_SCHEMA.properties ?? {})).toEqual(expect.arrayContaining(fields));
});

describe('configured hard thresholds', () => {
  const file = { evictionHard: { 'memory.available': '1Gi' } };

  test('replace all defaults', () => {
    expect(resolve({}, file).evictionHard).toEqual(file.evictionHard);
    expect(resolve({}, { evictionHard: {} }).evictionHard).toEqual({});
  });

  test('are merged with the defaults if the file has mergeDefaultEvictionSettings', () => {
    const merged = { ...file, mergeDefaultEvictionSettings: true };
    const wanted = { ...DEFAULT_THRESHOLDS, 'memory.available': '1Gi' };
    expect(resolve({}, merged).evictionHard).toEqual(wanted);
  });
});

describe('a value that is not valid is an error that names', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
    [
      'the signal',
      {},
      { evictionHard: { 'mem.available': '1Gi' } },
      'kubelet.yaml: evictionHard: must be quantities or percentages by signal; unsupported eviction signal mem.available (got mem.available<1Gi)',
    ],
    [
      'the threshold',
      { evictionHard: { 'memory.available': '110%' } },
      {},
      '--eviction-hard: must be quantities or percentages by signal; eviction percentage threshold memory.available must be <= 100%: 110% (got memory.available<110%)',
    ],
    [
      'the grace period',
      { evictionSoftGracePeriod: { 'memory.available': 'soon' } },
      {},
      '--eviction-soft-grace-period: must be durations by signal; eviction grace period of memory.available must be a duration such as "1m30s": "soon" (got memory.available=soon)',
    ],
    [
      'the minimum reclaim',
      {},
      { evictionMinimumReclaim: { 'nodefs.available': '-1Gi' } },
      'kubelet.yaml: evictionMinimumReclaim: must be quantities or percentages by signal; negative eviction minimum reclaim specified for nodefs.available (got nodefs.available=-1Gi)',
    ],
    [
      'the soft threshold that lacks a grace period',
      { evictionSoft: { 'memory.available': '1Gi' } },
      {},
      '--eviction-soft and --eviction-soft-grace-period, or evictionSoft and evictionSoftGracePeriod in kubelet.yaml: grace period must be specified for the soft eviction threshold memory.available',
    ],
    [
      'the signal of pressure',
      { evictionPsi: { 'cpu.pressure.some.avg10': '20%' } },
      {},
      '--eviction-psi: must be percentages by signal; unsupported pressure signal cpu.pressure.some.avg10; there are memory.pressure.some.avg10, memory.pressure.full.avg10, io.pressure.some.avg10, io.pressure.full.avg10 (got cpu.pressure.some.avg10>20%)',
    ],
    [
      'the grace period without a threshold',
      { evictionPsiGracePeriod: { 'io.pressure.some.avg10': '20s' } },
      {},
      '--eviction-psi and --eviction-psi-grace-period: io.pressure.some.avg10 has a grace period and no threshold, which would be such as "20%"',
    ],
    [
      'the longest grace period of a pod',
      { evictionMaxPodGracePeriod: -1 },
      {},
      '--eviction-max-pod-grace-period: must be 0 or more (got -1)',
    ],
  ])('%s', (_what, flags, file, message) => {
    expect(() => resolve(flags, file)).toThrow(message);
  });
});

describe('the text of a flag', () => {
  const setting = (flag: string) => ALL_EVICTION_SETTINGS.find((row) => row.flag?.startsWith(`${flag} `))!;

  test.each([
    ['--eviction-hard', 'memory.available<5%,nodefs.available<1Gi'],
    ['--eviction-soft', 'memory.available<5%,nodefs.available<1Gi'],
  ])('%s %s', (flag, text) => {
    const wanted = { 'memory.available': '5%', 'nodefs.available': '1Gi' };
    expect(parseSetting(setting(flag), text)).toEqual(wanted);
  });

  test('without its separator is an error that says what is expected', () => {
    expect(() => parseSetting(setting('--eviction-hard'), 'memory.available=1Gi')).toThrow(
      'It must be SIGNAL<VALUE with commas between',
    );
  });

  test('is the form in which the default is shown', () => {
    expect(shownDefault(setting('--eviction-hard'))).toBe(
      'memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,imagefs.inodesFree<5%',
    );
  });
});
