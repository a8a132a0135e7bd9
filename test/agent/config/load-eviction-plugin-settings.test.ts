import { describe, expect, test } from '@jest/globals';
import {
  KUBELET_CONFIGURATION_SCHEMA,
  type Schema,
} from '../../../src/agent/config/kubelet-configuration.ts';
import {
  ALL_EVICTION_PLUGIN_SETTINGS,
  resolveEvictionPluginSettings,
} from '../../../src/agent/config/load-eviction-plugin-settings.ts';
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import { ALL_BUILT_IN_SETTINGS } from '../../../src/agent/config/load-built-in-settings.ts';
import { fieldsOf, parseSetting, shownDefault } from '../../../src/agent/config/setting.ts';

type Fields = Record<string, unknown>;

const resolve = (flags: Fields = {}, evictionPlugins: Fields = {}, hasCluster = true) =>
  resolveEvictionPluginSettings(
    { flags, file: { evictionPlugins }, fileName: 'kubelet.yaml' },
    {
      rootDir: '/root-dir',
      hasCluster,
    },
  );
const setting = (flag: string) =>
  ALL_EVICTION_PLUGIN_SETTINGS.find((row) => row.flag?.startsWith(`${flag} `))!;

test('without flags and file no plugin is asked', () => {
  expect(resolve()).toEqual({
    enabled: false,
    syncPeriodMs: 5_000,
    timeoutMs: 2_000,
    dryRun: [],
    innerPlugins: ['*'],
    conditionTransitionPeriodMs: 300_000,
    evictionBurst: 3,
    skippedAnnotations: [],
    skippedLabels: [],
    killers: {},
    registryDir: '/root-dir/plugins_registry',
    taintsKubeconfig: '',
    strictAuthentication: false,
    usersFile: '',
    noticesDir: '',
    builtIn: DEFAULT_BUILT_IN_SETTINGS,
  });
  expect(
    resolveEvictionPluginSettings({ flags: {}, file: {}, fileName: '' }, { rootDir: '/', hasCluster: false })
      .enabled,
  ).toBe(false);
});

test('to demand tokens without users, and without a cluster that may have some, is refused', () => {
  expect(() => resolve({}, { strictAuthentication: true }, false)).toThrow(
    '--eviction-plugins-strict-authentication, or evictionPlugins.strictAuthentication in kubelet.yaml: no users are known: name evictionPlugins.usersFile too',
  );
  expect(resolve({ evictionPluginsUsersFile: '/u' }, { strictAuthentication: true })).toMatchObject({
    strictAuthentication: true,
    usersFile: '/u',
  });
  expect(resolve({}, { strictAuthentication: true })).toMatchObject({ usersFile: '' });
});

function fieldsIn({ properties }: Schema, path: string): string[] {
  if (properties === undefined) return [path];
  return Object.entries(properties).flatMap(([name, inner]) => fieldsIn(inner, `${path}.${name}`));
}

test('every field of the object evictionPlugins has a row, and no other', () => {
  const { evictionPlugins } = KUBELET_CONFIGURATION_SCHEMA.properties ?? {};
  const fields = fieldsIn(evictionPlugins!, 'evictionPlugins');
  expect([...fieldsOf([...ALL_EVICTION_PLUGIN_SETTINGS, ...ALL_BUILT_IN_SETTINGS])].sort()).toEqual(
    fields.sort(),
  );
});

test('the object of the file is read, and a flag wins over it', () => {
  const file = {
    enabled: true,
    syncPeriod: '10s',
    timeout: '500ms',
    dryRun: ['*', '-mine'],
    evictionBurst: -1,
    killers: { reclaimed_cores: 'SyncPodKill' },
    skippedLabels: ['keep'],
  };
  expect(resolve({ evictionPluginsTimeout: 1_000 }, file)).toMatchObject({
    enabled: true,
    syncPeriodMs: 10_000,
    timeoutMs: 1_000,
    dryRun: ['*', '-mine'],
    evictionBurst: -1,
    killers: { reclaimed_cores: 'SyncPodKill' },
    skippedLabels: ['keep'],
  });
  expect(resolve({ evictionPlugins: false }, file).enabled).toBe(false);
});

describe('a flag', () => {
  test.each<[string, string, unknown]>([
    ['--eviction-plugins', 'true', true],
    ['--eviction-plugins-sync-period', '1m', 60_000],
    ['--eviction-plugins-dry-run', '*,-a', ['*', '-a']],
    ['--eviction-plugins-burst', '-1', -1],
    [
      '--eviction-plugins-killers',
      'reclaimed_cores=SyncPodKill,shared_cores=EvictionAPI',
      { reclaimed_cores: 'SyncPodKill', shared_cores: 'EvictionAPI' },
    ],
  ])('%s %s is read', (flag, given, value) => {
    expect(parseSetting(setting(flag), given)).toEqual(value);
  });

  test('shows its default', () => {
    expect(
      ['--eviction-plugins-inner', '--eviction-plugins-burst'].map((flag) => shownDefault(setting(flag))),
    ).toEqual(['*', '3']);
  });
});

test('paths become absolute', () => {
  const { registryDir, taintsKubeconfig } = resolve({
    evictionPluginsRegistryDir: '/a/../b',
    evictionPluginsTaintsKubeconfig: '/c/./d',
  });
  expect([registryDir, taintsKubeconfig]).toEqual(['/b', '/c/d']);
});

describe('a value that is not valid is an error that names', () => {
  const killersRule =
    'must be LEVEL=KILLER, of the levels shared_cores, dedicated_cores, reclaimed_cores, system_cores and the killers SyncPodKill, EvictionAPI, DeletionAPI';
  test.each<[string, Fields, Fields, string]>([
    [
      'the flag',
      { evictionPluginsBurst: 0 },
      {},
      '--eviction-plugins-burst: must be 1 or more, or below 0 for no limit (got 0)',
    ],
    ['the field', {}, { evictionBurst: 0 }, 'kubelet.yaml: evictionPlugins.evictionBurst: must be 1 or more'],
    [
      'the longest time',
      {},
      { timeout: '100000h' },
      'kubelet.yaml: evictionPlugins.timeout: must be from 1ms to',
    ],
    [
      'the levels and killers',
      { evictionPluginsKillers: { reclaimed_cores: 'Sword' } },
      {},
      `--eviction-plugins-killers: ${killersRule} (got reclaimed_cores=Sword)`,
    ],
    [
      'an unknown level',
      {},
      { killers: { gold: 'SyncPodKill' } },
      `kubelet.yaml: evictionPlugins.killers: ${killersRule}`,
    ],
  ])('%s', (_, flags, file, message) => {
    expect(() => resolve(flags, file)).toThrow(message);
  });

  test.each<[Fields, string]>([
    [
      { killers: { shared_cores: 'EvictionAPI' } },
      '--eviction-plugins-killers, or evictionPlugins.killers in kubelet.yaml: shared_cores=EvictionAPI asks the API server, and no kubeconfig was given',
    ],
    [
      { taintsKubeconfig: '/x' },
      'evictionPlugins.taintsKubeconfig in kubelet.yaml: taints are kept by the API server',
    ],
  ])('what needs an API server, without one: %j', (file, message) => {
    expect(() => resolve({}, file, false)).toThrow(message);
    expect(() => resolve({}, file)).not.toThrow();
  });
});
