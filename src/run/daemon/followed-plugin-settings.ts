/**
 * Settings of eviction plugins that change while the daemon runs, and where each value comes from. What Katalyst's object for this node sets
 * comes before flags and files, as with Katalyst: whoever sets it for many nodes means all of them.
 */
import { dirname } from 'node:path';
import type { ClusterSettings } from '../../agent/actors/plugins/cluster-settings.ts';
import type { FollowedSettings } from '../../agent/actors/plugins/plugin-parts.ts';
import type { clusterLayer, ClusterLayer } from '../../agent/config/kubelet/cluster-layer.ts';
import type { StateletConfig } from '../../agent/config/config.ts';
import { explainedSettings } from '../../agent/config/load-eviction-plugin-settings.ts';
import type { ExplainedPluginSetting } from '../../agent/policies/eviction-plugins/plugins-explanation.ts';
import { type KernelWatch, kernelWatch } from '../../system/kernel-watch.ts';
import { Timer } from '../../system/timer.ts';
import type { AgentContext } from '../../types/agent-context.ts';
import type { BuiltInSettings } from '../../types/built-in-thresholds.ts';
import { errorMessage } from '../../types/errors.ts';
import type { EvictionPluginSettings } from '../../types/node-settings.ts';

async function layerOf(...args: Parameters<typeof clusterLayer>): Promise<ClusterLayer> {
  const module = await import('../../agent/config/kubelet/cluster-layer.ts');
  return module.clusterLayer(...args);
}

type Configured = Pick<StateletConfig, 'evictionPlugins' | 'given'>;

/** After an event: programs write a file in several steps. */
const QUIET_MS = 300;
/** Where no event came: events can be lost. */
const CHECK_MS = 60_000;

export class FollowedPluginSettings implements FollowedSettings {
  readonly #context: AgentContext;
  readonly #timer: Timer;
  readonly #cluster: ClusterSettings | undefined;
  #config: Configured;
  /** What the cluster sets, on top of the configuration. */
  #layer: (ClusterLayer & { readonly origin: string }) | undefined;
  /** The settings that were logged last. */
  #logged: readonly ExplainedPluginSetting[];
  #problem: string | undefined;
  #watches: readonly KernelWatch[] = [];
  #reading: Promise<void> = Promise.resolve();
  #hasNews = false;
  #isStopped = false;

  constructor(context: AgentContext, config: Configured, cluster?: ClusterSettings) {
    this.#context = context;
    this.#cluster = cluster;
    this.#timer = new Timer(context.clock);
    this.#config = config;
    this.#logged = this.explained;
  }

  get current(): EvictionPluginSettings {
    return (this.#layer ?? this.#config).evictionPlugins;
  }

  /** Of the built-in plugins. */
  get builtIn(): BuiltInSettings {
    return this.current.builtIn;
  }

  get explained(): readonly ExplainedPluginSetting[] {
    const { fields, origin = '' } = this.#layer ?? {};
    const all = explainedSettings(this.current, this.#config.given);
    return all.map((one) => (fields?.has(`evictionPlugins.${one.name}`) ? { ...one, from: origin } : one));
  }

  get problem(): string | undefined {
    return this.#problem ?? this.#cluster?.problem;
  }

  start(): void {
    this.#cluster?.start(() => this.#plan(0));
    const { config = '', configDir = '' } = this.#config.given.flags;
    const folders = new Set([
      ...(config === '' ? [] : [dirname(config)]),
      ...(configDir === '' ? [] : [configDir]),
    ]);
    if (folders.size === 0) return;
    this.#watches = [...folders].map((folder) => kernelWatch(folder, () => this.#plan(QUIET_MS)));
    this.#plan(CHECK_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cluster?.stop();
    this.#timer.disarm();
    for (const watch of this.#watches) watch.close();
    await this.#reading;
  }

  #plan(delayMs: number): void {
    if (this.#isStopped) return;
    this.#hasNews = delayMs < CHECK_MS;
    this.#timer.arm(delayMs, () => {
      this.#hasNews = false;
      this.#reading = this.#reading.then(() => this.#readInTurn());
    });
  }

  /** What has changed meanwhile is read next. */
  async #readInTurn(): Promise<void> {
    await this.#read();
    if (!this.#hasNews && this.#watches.length > 0) this.#plan(CHECK_MS);
  }

  /** Files that are not valid change nothing. */
  async #read(): Promise<void> {
    const { logger } = this.#context;
    const { flags } = this.#config.given;
    try {
      const { configurationLayers, resolveLayers } =
        await import('../../agent/config/kubelet/configuration-layers.ts');
      const { layers } = await configurationLayers(flags);
      const { evictionPlugins, given } = resolveLayers(flags, layers);
      const config = this.#cluster?.config;
      this.#layer = config && { ...(await layerOf(given, config)), origin: config.origin };
      this.#config = { evictionPlugins, given };
      this.#problem = undefined;
      this.#logChanges();
    } catch (error) {
      const problem = errorMessage(error);
      if (problem === this.#problem) return;
      this.#problem = problem;
      logger.warn(
        {},
        `Eviction plugins: the configuration has changed and is not valid, so settings stay: ${problem}`,
      );
    }
  }

  #logChanges(): void {
    const { explained } = this;
    for (const [index, { name, value, from }] of explained.entries())
      if (this.#logged[index]?.value !== value)
        this.#context.logger.info(
          { setting: name, value, from },
          `Eviction plugins: ${name} is now ${value || 'empty'}, from ${from}`,
        );
    this.#logged = explained;
  }
}
