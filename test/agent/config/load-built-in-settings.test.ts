import { describe, expect, test } from '@jest/globals';
import {
  ALL_BUILT_IN_SETTINGS,
  builtInRows,
  resolveBuiltInSettings,
} from '../../../src/agent/config/load-built-in-settings.ts';
import { flagKey, parseSetting } from '../../../src/agent/config/setting.ts';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';

type Fields = Record<string, unknown>;

const resolve = (flags: Fields, evictionPlugins: Fields = {}) =>
  resolveBuiltInSettings({ flags, file: { evictionPlugins }, fileName: 'kubelet.yaml' });

/** As the command line would read it. */
function given(flag: string, text: string): Fields {
  const setting = ALL_BUILT_IN_SETTINGS.find((row) => row.flag?.split(' ')[0] === flag);
  if (setting === undefined) throw new Error(`there is no flag ${flag}`);
  return { [flagKey(flag)]: parseSetting(setting, text) };
}

test('without flags and file, each has its default, which each row can show and read again', () => {
  expect(resolve({})).toEqual(DEFAULT_BUILT_IN_SETTINGS);
  for (const { row, value } of builtInRows(DEFAULT_BUILT_IN_SETTINGS)) {
    expect(row.problem?.(value)).toBeUndefined();
    expect(row.kind.fromText(row.kind.show(value))).toEqual(value);
  }
});

test('no two rows have the same flag or field', () => {
  for (const key of ['flag', 'field'] as const) {
    const names = ALL_BUILT_IN_SETTINGS.flatMap((row) => row[key] ?? []);
    expect(new Set(names).size).toBe(names.length);
  }
});

test("the object of Katalyst's AdminQoSConfiguration is read as it is", () => {
  const evictionConfig = {
    reclaimedResourcesEvictionConfig: { evictionThreshold: { cpu: 2.5 }, gracePeriod: -1 },
    memoryPressureEvictionConfig: {
      enableNumaLevelEviction: false,
      systemFreeMemoryThresholdMinimum: '10Gi',
      systemKswapdRateExceedDurationThreshold: 60,
      gracePeriod: 7,
      reclaimedGracePeriod: 0,
    },
    rootfsPressureEvictionConfig: { enableRootfsPressureEviction: true, minimumImageFsFreeThreshold: '10%' },
    networkEvictionConfig: { enableNICNetworkEviction: true, nicUnhealthyToleranceDuration: '1m' },
    cpuPressureEvictionConfig: {
      loadUpperBoundRatio: 2,
      numaCPUPressureEvictionConfig: { enableEviction: true, cpuUsageRatioThreshold: 0.5 },
      numaSysCPUPressureEvictionConfig: {
        enableEviction: true,
        syncPeriod: 5,
        numaCPUUsageHardThreshold: 0.7,
      },
    },
  };
  expect(resolve({}, evictionConfig)).toMatchObject({
    reclaimedResources: { evictionThreshold: { cpu: 2.5 }, gracePeriodSeconds: -1 },
    numaMemory: { isEnabled: false },
    systemMemory: { freeMinimumBytes: 10 * 2 ** 30, kswapdDurationMs: 60_000 },
    memoryGrace: { gracePeriodSeconds: 7, reclaimedGracePeriodSeconds: 0 },
    rootfsPressure: { isEnabled: true, minimumFree: '10%' },
    nicHealth: { isEnabled: true, toleranceMs: 60_000 },
    numaSysCpu: { isEnabled: true, syncPeriodMs: 5000, hardUsage: 0.7 },
    cpuLoad: { upperBoundRatio: 2 },
    numaCpu: { isEnabled: true, usageRatio: 0.5 },
  });
});

test('a flag wins over the file', () => {
  const file = { cpuPressureEvictionConfig: { loadMetricRingSize: 5, loadUpperBoundRatio: 2 } };
  expect(resolve(given('--eviction-load-metric-ring-size', '20'), file).cpuLoad).toMatchObject({
    ringSize: 20,
    upperBoundRatio: 2,
  });
});

test('factors are read by the name of the resource', () => {
  expect(resolve(given('--eviction-reclaimed-resources-threshold', 'a/cpu=3,b/memory=1.5'))).toMatchObject({
    reclaimedResources: { evictionThreshold: { 'a/cpu': 3, 'b/memory': 1.5 } },
  });
});

describe('a value that is not valid is an error that names the flag or the field, and what would be right', () => {
  test.each([
    ['--eviction-load-upper-bound-ratio', 'much', 'It must be a number such as 1.5.'],
    ['--eviction-reclaimed-resources-threshold', 'cpu', 'It must be RESOURCE=FACTOR with commas between'],
    ['--eviction-reclaimed-resources-threshold', 'cpu=-1', 'It must be RESOURCE=FACTOR'],
    ['--eviction-system-pressure-duration', '15s', 'It must be a whole number of seconds.'],
    ['--eviction-rootfs-enable', 'perhaps', 'It must be true or false.'],
  ])('%s %s', (flag, text, message) => {
    expect(() => given(flag, text)).toThrow(message);
  });

  test.each<[string, string, string]>([
    ['--eviction-load-metric-ring-size', '0', 'must be from 1 to 1000 (got 0)'],
    ['--eviction-load-threshold-met-percentage', '80', 'must be from 0.01 to 1 (got 80)'],
    ['--eviction-cpu-grace-period', '-2', 'must be -1 or more (got -2)'],
    [
      '--eviction-rootfs-minimum-image-fs-free',
      'ten',
      'must be a quantity such as 10Gi of more than 0, or a percentage',
    ],
    ['--eviction-rootfs-minimum-image-fs-free', '101%', 'or a percentage such as 10% (got 101%)'],
    [
      '--eviction-rootfs-overuse-supported-qos-levels',
      'system_cores',
      'must be of shared_cores, reclaimed_cores',
    ],
    ['--eviction-network-nic-unhealthy-tolerance-duration', '-1s', 'must be from 0s'],
  ])('%s %s', (flag, text, message) => {
    expect(() => resolve(given(flag, text))).toThrow(`${flag}: must be `);
    expect(() => resolve(given(flag, text))).toThrow(message);
  });

  test('fields', () => {
    const file = { cpuPressureEvictionConfig: { loadLowerBoundRatio: 0 } };
    expect(() => resolve({}, file)).toThrow(
      'kubelet.yaml: evictionPlugins.cpuPressureEvictionConfig.loadLowerBoundRatio: must be more than 0 (got 0)',
    );
    const rootfs = { rootfsPressureEvictionConfig: { minimumImageFsDiskCapacityThreshold: 'large' } };
    expect(() => resolve({}, rootfs)).toThrow('must be 0 or more (got "large")');
  });
});
