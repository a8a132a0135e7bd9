/** Settings of eviction plugins, for every runtime. The kubelet has none of them. */
import { resolve } from 'node:path';
import { QOS_LEVELS } from '../policies/eviction-plugins/qos-level.ts';
import type { ExplainedPluginSetting } from '../policies/eviction-plugins/plugins-explanation.ts';
import { StateletError } from '../../types/errors.ts';
import { ALL_BUILT_IN_SETTINGS, builtInRows, resolveBuiltInSettings } from './load-built-in-settings.ts';
import { type EvictionPluginSettings, POD_KILLERS, type PodKillerName } from '../../types/node-settings.ts';
import {
  type GivenSettings,
  absolute,
  duration,
  flagKey,
  flagOrNot,
  type Kind,
  list,
  memberOf,
  number,
  resolveSettings,
  type Setting,
  text,
  texts,
  timer,
} from './setting.ts';

type Killers = EvictionPluginSettings['killers'];

const killers = texts(
  '=',
  'LEVEL=KILLER with commas between, such as reclaimed_cores=SyncPodKill',
) as Kind<Killers>;
const names: Kind<readonly string[]> = {
  ...list,
  expects: 'names with commas between; * for all, -NAME for all but one',
};

type OwnSettings = Omit<EvictionPluginSettings, 'builtIn'>;

const EVICTION_PLUGIN_SETTINGS: {
  readonly [Name in keyof OwnSettings]: Setting<OwnSettings[Name]>;
} = {
  enabled: {
    flag: '--eviction-plugins [BOOL]',
    field: 'evictionPlugins.enabled',
    default: false,
    kind: flagOrNot,
    description: 'whether plugins are asked which pods should go',
  },
  syncPeriodMs: {
    flag: '--eviction-plugins-sync-period <DURATION>',
    field: 'evictionPlugins.syncPeriod',
    default: 5_000,
    kind: duration,
    problem: timer(1),
    description: 'from the end of one pass over all plugins to the next',
  },
  timeoutMs: {
    flag: '--eviction-plugins-timeout <DURATION>',
    field: 'evictionPlugins.timeout',
    default: 2_000,
    kind: duration,
    problem: timer(1),
    description: 'how long a plugin has for all its answers in a pass',
  },
  dryRun: {
    flag: '--eviction-plugins-dry-run <LIST>',
    field: 'evictionPlugins.dryRun',
    default: [],
    kind: names,
    description: 'plugins whose answers are counted and never acted on; * for all, -NAME for all but one',
  },
  innerPlugins: {
    flag: '--eviction-plugins-inner <LIST>',
    field: 'evictionPlugins.innerPlugins',
    default: ['*'],
    kind: names,
    description: 'built-in plugins that are asked; * for all, -NAME for all but one',
  },
  conditionTransitionPeriodMs: {
    flag: '--eviction-plugins-condition-transition-period <DURATION>',
    field: 'evictionPlugins.conditionTransitionPeriod',
    default: 300_000,
    kind: duration,
    problem: timer(0),
    description: 'how long a condition of a plugin counts after it was last observed',
  },
  evictionBurst: {
    flag: '--eviction-plugins-burst <N>',
    field: 'evictionPlugins.evictionBurst',
    default: 3,
    kind: number,
    problem: (value) => (value === 0 ? '1 or more, or below 0 for no limit' : undefined),
    description: 'how many pods are ended in one pass; below 0: no limit',
  },
  skippedAnnotations: {
    flag: '--eviction-plugins-skipped-annotations <LIST>',
    field: 'evictionPlugins.skippedAnnotations',
    default: [],
    kind: list,
    description: 'a pod with one of these annotations is shown to no plugin',
  },
  skippedLabels: {
    flag: '--eviction-plugins-skipped-labels <LIST>',
    field: 'evictionPlugins.skippedLabels',
    default: [],
    kind: list,
    description: 'a pod with one of these labels is shown to no plugin',
  },
  killers: {
    flag: '--eviction-plugins-killers <LIST>',
    field: 'evictionPlugins.killers',
    default: {},
    kind: killers,
    problem: killersProblem,
    description: `how pods are ended, by their QoS level: ${POD_KILLERS.join(', ')}`,
  },
  registryDir: {
    flag: '--eviction-plugins-registry-dir <DIR>',
    field: 'evictionPlugins.registryDir',
    default: '',
    kind: text,
    description: 'where sockets of plugins appear; plugins_registry in the root folder unless given',
  },
  taintsKubeconfig: {
    flag: '--eviction-plugins-taints-kubeconfig <FILE>',
    field: 'evictionPlugins.taintsKubeconfig',
    default: '',
    kind: text,
    description:
      'kubeconfig of the user that writes taints for conditions of plugins; the node itself unless given',
  },
  strictAuthentication: {
    flag: '--eviction-plugins-strict-authentication [BOOL]',
    field: 'evictionPlugins.strictAuthentication',
    default: false,
    kind: flagOrNot,
    description: 'whether plugins without the token of a user in the users file are refused',
  },
  usersFile: {
    flag: '--eviction-plugins-users-file <FILE>',
    field: 'evictionPlugins.usersFile',
    default: '',
    kind: text,
    description:
      'users that may register plugins, with their passwords; unless given, plugins need no token without strict authentication',
  },
  noticesDir: {
    flag: '--eviction-plugins-notices-dir <DIR>',
    field: 'evictionPlugins.noticesDir',
    default: '',
    kind: text,
    description:
      'where pods that ask for notices of evictions have a folder each; unless given, they only get an event',
  },
};

/** All rows of the table. Those of the built-in plugins are in a table of their own. */
export const ALL_EVICTION_PLUGIN_SETTINGS = Object.values(
  EVICTION_PLUGIN_SETTINGS,
) as unknown as readonly Setting[];

interface Given {
  readonly flags: Readonly<Record<string, unknown>>;
  readonly file: object;
}

/** Those that can change while the agent runs, and all of the built-in plugins. */
const FOLLOWED = ['dryRun', 'evictionBurst', 'conditionTransitionPeriodMs'] as const;

/** The values of the settings that are followed, as texts, and where each comes from. */
export function explainedSettings(
  settings: EvictionPluginSettings,
  given: Given,
): readonly ExplainedPluginSetting[] {
  const own = FOLLOWED.map((name) => ({
    row: EVICTION_PLUGIN_SETTINGS[name] as Setting,
    value: settings[name],
  }));
  return [...own, ...builtInRows(settings.builtIn)].map(({ row, value }) => settingOrigin(row, value, given));
}

/** A flag comes before the files, and these before the default. */
function settingOrigin(
  { flag = '', field = '', kind }: Setting,
  value: unknown,
  { flags, file }: Given,
): ExplainedPluginSetting {
  const shown = { name: field.replace(/^evictionPlugins\./u, ''), value: kind.show(value) };
  if (flags[flagKey(flag)] !== undefined) return { ...shown, from: flag.split(' ')[0] ?? '' };
  const inFile = memberOf({ ...file }, field);
  if (inFile === undefined || kind.fromField(inFile) === undefined) return { ...shown, from: 'the default' };
  return { ...shown, from: [flags.config, flags.configDir].filter(Boolean).join(', ') };
}

/** Those that Katalyst's object of a cluster can set. */
export const CLUSTER_ROWS: readonly Setting[] = [
  EVICTION_PLUGIN_SETTINGS.dryRun as unknown as Setting,
  ...ALL_BUILT_IN_SETTINGS,
];

export interface Surroundings {
  readonly rootDir: string;
  readonly hasCluster: boolean;
}

/** Paths become absolute. Throws `InvalidArgument`; the message names the flag or the field whose value is not valid. */
export function resolveEvictionPluginSettings(
  given: GivenSettings,
  { rootDir, hasCluster }: Surroundings,
): EvictionPluginSettings {
  const settings = resolveSettings<OwnSettings>(EVICTION_PLUGIN_SETTINGS, given);
  const { fileName } = given;
  if (!hasCluster) requireNoCluster(settings, fileName);
  if (settings.strictAuthentication && settings.usersFile === '' && !hasCluster)
    throw invalid('strictAuthentication', fileName, 'no users are known: name evictionPlugins.usersFile too');
  const { registryDir, taintsKubeconfig, usersFile, noticesDir } = settings;
  return {
    ...settings,
    registryDir: registryDir === '' ? resolve(rootDir, 'plugins_registry') : resolve(registryDir),
    taintsKubeconfig: absolute(taintsKubeconfig),
    usersFile: absolute(usersFile),
    noticesDir: absolute(noticesDir),
    builtIn: resolveBuiltInSettings(given),
  };
}

function requireNoCluster({ killers, taintsKubeconfig }: OwnSettings, fileName: string): void {
  const ofServer = Object.entries(killers).find(([, killer]) => killer !== 'SyncPodKill');
  const wrong = [
    ...(ofServer ? [['killers', `${ofServer[0]}=${ofServer[1]} asks the API server`] as const] : []),
    ...(taintsKubeconfig === '' ? [] : [['taintsKubeconfig', 'taints are kept by the API server'] as const]),
  ];
  for (const [name, why] of wrong) throw invalid(name, fileName, `${why}, and no kubeconfig was given`);
}

function invalid(name: keyof OwnSettings, fileName: string, why: string): StateletError {
  const { flag = '', field = '' } = EVICTION_PLUGIN_SETTINGS[name];
  const where = `${flag.split(' ')[0] ?? ''}, or ${field} in ${fileName}`;
  return new StateletError('InvalidArgument', `${where}: ${why}`);
}

function killersProblem(value: Killers): string | undefined {
  const isKnown = ([level, killer]: readonly [string, PodKillerName]) =>
    QOS_LEVELS.has(level) && POD_KILLERS.includes(killer);
  if (Object.entries(value).every(isKnown)) return undefined;
  return `LEVEL=KILLER, of the levels ${[...QOS_LEVELS].join(', ')} and the killers ${POD_KILLERS.join(', ')}`;
}
