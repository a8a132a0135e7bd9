/** The built-in plugins on the figures of a stats provider. */
import { DEFAULT_BUILT_IN_SETTINGS } from '../../../../src/agent/policies/eviction-plugins/built-in/built-in-settings.ts';
import { builtInPlugins } from '../../../../src/agent/plugins/built-in/built-in-plugins.ts';
import type { BuiltInStats } from '../../../../src/agent/plugins/built-in/pass-figures.ts';
import type { BuiltInSettings } from '../../../../src/types/built-in-thresholds.ts';
import type { Clock } from '../../../../src/types/clock.ts';
import type { EvictionPlugin, NamedPod } from '../../../../src/types/eviction-plugin.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';
import { testContext, clockOf } from '../../../support/test-context.ts';

export const RECLAIMED = 'reclaimed-resource-pressure-eviction-plugin';
export const NUMA = 'numa-memory-pressure-eviction-plugin';
export const SYSTEM = 'system-memory-pressure-eviction-plugin';
export const RSS = 'rss-overuse-eviction-plugin';

interface PluginBedParts {
  readonly stats: () => Promise<BuiltInStats>;
  readonly clock: Pick<Clock, 'now'>;
  readonly thresholds?: Partial<BuiltInSettings> | (() => Partial<BuiltInSettings>);
  readonly innerPlugins?: readonly string[];
  readonly allocatable?: Readonly<Record<string, string>>;
}

export class PluginBed {
  readonly plugins: readonly EvictionPlugin[];
  readonly signal = new AbortController();
  readonly #log = recordingLogger();

  constructor({
    stats,
    clock,
    thresholds,
    innerPlugins = ['*'],
    allocatable = { cpu: '4', memory: '10Gi' },
  }: PluginBedParts) {
    const context = testContext({ clock: clockOf(() => clock.now()), logger: this.#log.logger });
    this.plugins = builtInPlugins(context, {
      settings: { innerPlugins },
      thresholds: () => ({
        ...DEFAULT_BUILT_IN_SETTINGS,
        ...(typeof thresholds === 'function' ? thresholds() : thresholds),
      }),
      stats,
      allocatable: () => allocatable,
    });
  }

  get said(): readonly string[] {
    return this.#log.lines.map(({ message }) => message);
  }

  plugin(name: string): EvictionPlugin {
    const found = this.plugins.find((plugin) => plugin.name === name);
    if (found === undefined) throw new Error(`there is no plugin ${name}`);
    return found;
  }

  thresholdMet(name: string, pods: readonly Pod[]) {
    return this.plugin(name).thresholdMet(this.#question(pods));
  }

  getTopEvictionPods(name: string, pods: readonly Pod[], evictionScope: string, topN = 1) {
    return this.plugin(name).getTopEvictionPods({ ...this.#question(pods), topN, evictionScope });
  }

  getEvictPods(name: string, pods: readonly Pod[]) {
    return this.plugin(name).getEvictPods(this.#question(pods));
  }

  #question(pods: readonly Pod[]) {
    return { activePods: { pods }, signal: this.signal.signal };
  }
}

export function namesOf(pods: readonly NamedPod[]): readonly string[] {
  return pods.map(({ name }) => name);
}
