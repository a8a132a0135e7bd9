/** Which eviction plugins simulated nodes have, and by which settings they are asked. */
import { DEFAULT_BUILT_IN_SETTINGS } from '../../agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import type { EvictionPluginSettings, PodKillerName } from '../../types/node-settings.ts';
import { drawn, type KeyedRandom } from '../resources/growth.ts';

export interface PluginsPlan {
  readonly settings: EvictionPluginSettings;
  readonly onTrial: ReadonlySet<string>;
  /** The names of those that are built in. */
  readonly builtIn: readonly string[];
  readonly sockets: readonly SocketPlan[];
}

export interface SocketPlan {
  readonly path: string;
  /** The name of the plugin that listens there. Several sockets may have one name: the plugin that comes last is asked. */
  readonly plugin: string;
}

/** Half of the nodes have plugins. */
const SHARE = 0.5;
const MAX_PLUGINS = 4;
const BUILT_IN = 0.4;
const HAS_SECOND_SOCKET = 0.3;
const PERIODS_MS = [2_000, 5_000, 10_000];
const TIMEOUTS_MS = [500, 1_000, 3_000];
const TRANSITIONS_MS = [10_000, 30_000, 120_000];
const BURSTS = [-1, 0, 1, 1, 2, 3];
const KILLERS: readonly (PodKillerName | undefined)[] = [
  undefined,
  'SyncPodKill',
  'EvictionAPI',
  'DeletionAPI',
];
const LEVELS = ['shared_cores', 'reclaimed_cores', 'dedicated_cores'];

export const SKIPPED_ANNOTATION = 'example.com/not-for-plugins';
export const SKIPPED_LABEL = 'example.com/keep';

/** Undefined for a node without plugins. */
export function drawnPlugins(random: KeyedRandom): PluginsPlan | undefined {
  if (random('plugins') >= SHARE) return undefined;
  const count = 1 + Math.floor(MAX_PLUGINS * random('plugins/count'));
  const names = Array.from({ length: count }, (_, index) => `plugin-${String(index + 1)}`);
  const builtIn = random('plugins/built-in') < BUILT_IN ? names.slice(0, 1) : [];
  const trial = drawnTrial(names, random);
  return {
    settings: {
      enabled: true,
      syncPeriodMs: pick(PERIODS_MS, random('plugins/period')),
      timeoutMs: pick(TIMEOUTS_MS, random('plugins/timeout')),
      dryRun: trial.dryRun,
      innerPlugins: ['*'],
      conditionTransitionPeriodMs: pick(TRANSITIONS_MS, random('plugins/transition')),
      evictionBurst: pick(BURSTS, random('plugins/burst')),
      skippedAnnotations: [SKIPPED_ANNOTATION],
      skippedLabels: [SKIPPED_LABEL],
      killers: drawnKillers(random),
      registryDir: '',
      taintsKubeconfig: '',
      strictAuthentication: false,
      usersFile: '',
      noticesDir: '',
      builtIn: DEFAULT_BUILT_IN_SETTINGS,
    },
    onTrial: trial.names,
    builtIn,
    // A plugin with the name of a built-in one is refused.
    sockets: names.flatMap((name) => drawnSockets(name, random)),
  };
}

function drawnSockets(plugin: string, random: KeyedRandom): readonly SocketPlan[] {
  const count = random(`plugins/${plugin}/sockets`) < HAS_SECOND_SOCKET ? 2 : 1;
  return Array.from({ length: count }, (_, index) => ({
    path: `/plugins_registry/${plugin}-${String(index + 1)}.sock`,
    plugin,
  }));
}

/** The setting as it is written, and the names that it means. */
function drawnTrial(
  names: readonly string[],
  random: KeyedRandom,
): { readonly dryRun: readonly string[]; readonly names: ReadonlySet<string> } {
  const [last = ''] = names.slice(-1);
  const value = random('plugins/trial');
  if (value < 0.4) return { dryRun: [], names: new Set() };
  if (value < 0.8) return { dryRun: [last], names: new Set([last]) };
  return { dryRun: ['*', `-${last}`], names: new Set(names.slice(0, -1)) };
}

function drawnKillers(random: KeyedRandom): EvictionPluginSettings['killers'] {
  const drawnOf = (level: string) => drawn(KILLERS, random(`plugins/killer/${level}`));
  return Object.fromEntries(
    LEVELS.flatMap((level) => {
      const killer = drawnOf(level);
      return killer === undefined ? [] : [[level, killer]];
    }),
  );
}

/** `value`: in [0, 1). */
export function pick<T>(items: readonly T[], value: number): T {
  const item = items[Math.floor(value * items.length)];
  if (item === undefined && items.length === 0) throw new RangeError('nothing to pick from');
  return item as T;
}

/** At least 1 ms. `which` chooses the longest time, and `share` the part of it: both in [0, 1). */
export function drawnMs(most: readonly number[], which: number, share: number): number {
  return Math.ceil(pick(most, which) * share) || 1;
}
